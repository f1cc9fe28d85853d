import { spawnSync } from 'node:child_process'
import {
  closeSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { Generator } from './options.ts'
import { isInstalled } from './process.ts'

/** The hardware and software that the figures depend on, and how the processes were placed. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly node: string
  readonly generator: Generator
  readonly pinned: Pinned | null
  /** Why processes are not pinned to cores, or a warning about how they are. */
  readonly pinningNote: string | null
  /** Sequential fsyncs per second where the databases are stored: the limit for commits without batching. */
  readonly syncsPerSecond: number
  /** Whether the databases are in a memory file system, so that fsync does nothing. */
  readonly diskIsMemory: boolean
}

/** Cores for the processes; null if they cannot be pinned. */
export interface Pinned {
  /** For the server under load. */
  readonly server: string
  /** For the load generators and PostgreSQL. */
  readonly load: string
  /** For several servers, which share all cores with the load. */
  readonly all: string
}

/** @param dir the directory of the databases */
export function inspectMachine(dir: string, generator: Generator | null): Machine {
  const processors = cpus()
  return {
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    node: process.version,
    generator: chooseGenerator(generator),
    ...choosePinning(),
    syncsPerSecond: Math.round(syncsPerSecond(dir)),
    diskIsMemory: isMemory(dir),
  }
}

/** Pins this process to the load's core, away from the server's. */
export function pinSelf({ pinned }: Machine): void {
  if (pinned === null) return
  spawnSync('taskset', ['-a', '-cp', pinned.load, String(process.pid)])
}

function chooseGenerator(wanted: Generator | null): Generator {
  if (wanted === 'autocannon') return wanted
  if (isInstalled('wrk', ['-v'])) return 'wrk'
  if (wanted === 'wrk') throw new Error('wrk is not installed')
  return 'autocannon'
}

function choosePinning(): Pick<Machine, 'pinned' | 'pinningNote'> {
  if (!isInstalled('taskset', ['--version'])) {
    return { pinned: null, pinningNote: 'taskset is not installed: nothing is pinned to a core' }
  }
  const status = readFileSync('/proc/self/status', 'utf8')
  const all = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? ''
  const [server, load] = coresOf(all)
  if (server === undefined) return { pinned: null, pinningNote: 'the cores could not be told' }
  if (load !== undefined) return { pinned: { server, load, all }, pinningNote: null }
  return {
    pinned: { server, load: server, all },
    pinningNote: 'there is one core: the load takes its share of what the server could have had',
  }
}

/** @param list such as 0-2,5: the cores that this process may use, possibly fewer than the machine has */
function coresOf(list: string): string[] {
  return list.split(',').flatMap((range) => {
    const [from = Number.NaN, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 || 0 }, (_, i) => String(from + i))
  })
}

function syncsPerSecond(dir: string): number {
  const file = join(dir, 'sync')
  const fd = openSync(file, 'w')
  const page = Buffer.alloc(4096)
  const started = performance.now()
  let count = 0
  for (; performance.now() - started < 300; count++) {
    writeSync(fd, page)
    fdatasyncSync(fd)
  }
  const seconds = (performance.now() - started) / 1000
  closeSync(fd)
  rmSync(file)
  return count / seconds
}

const TMPFS = 0x01021994
const RAMFS = 0x858458f6

function isMemory(dir: string): boolean {
  const { type } = statfsSync(dir)
  return type === TMPFS || type === RAMFS
}
