import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { link, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { decodeKey, encodeBase64, parseTreeSize, parseVerifierKey } from '@countersign/protocol'
import { Failure } from '@countersign/sdk/tool-support'
import { jsonText } from '../output.ts'
import { TreeFrontier } from './tree-frontier.ts'

/** What was verified of a log so far. */
export interface LogState {
  /** Trusted since the first run. */
  readonly verifierKey: string
  readonly frontier: TreeFrontier
  /** The signed note under which the entries of the frontier are. */
  readonly checkpoint: string
  /** Entries that break a rule of the log. */
  readonly violations: number
  /** The name of the file with what is known of each agent (`AgentTable`), beside the state. */
  readonly agents: string
  /** Of `log watch`; null: the state is of `log verify`. */
  readonly watch: WatchState | null
}

/** What an owner's monitor remembers. */
export interface WatchState {
  /** The thumbprints of the keys that are the owner's, for each DID. */
  readonly keys: Readonly<Record<string, readonly string[]>>
  /** Alerts that were not delivered yet, oldest first. */
  readonly alerts: readonly object[]
}

const VERSION = 1

/** The file with the state of a verification, which only one run uses at a time. */
export class LogStateFile {
  readonly path: string
  readonly #lock: string
  readonly #owner = `${process.pid} ${randomUUID()}`

  private constructor(path: string) {
    this.path = path
    this.#lock = `${path}.lock`
  }

  /** Locks a state, which may not exist yet. @throws Failure STATE_LOCKED */
  static async lock(path: string): Promise<LogStateFile> {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const file = new LogStateFile(path)
    await file.#acquire()
    return file
  }

  /** @returns null before the first run @throws Failure STATE_DAMAGED */
  read(): LogState | null {
    if (!existsSync(this.path)) return null
    const state = parseState(readFileSync(this.path, 'utf8'))
    if (state !== null) return state
    const message = `${this.path} is not the state of a verification. Choose another file with --state.`
    throw new Failure('STATE_DAMAGED', message)
  }

  /** Replaces the state atomically and durably. @throws Failure STATE_LOCKED if another run has taken the lock over */
  async write(state: LogState): Promise<void> {
    this.#assertOwned()
    await writeDurably(this.path, `${jsonText(formatState(state), 2)}\n`)
  }

  /** Where the table of a new verification is. */
  newAgents(): string {
    return `${basename(this.path)}.${randomUUID().slice(0, 8)}.agents`
  }

  /** The path of a file beside the state. */
  beside(name: string): string {
    return join(dirname(this.path), name)
  }

  /** Deletes the tables of runs that have ended before they saved a state. @param used the one in use */
  deleteTables(used: string | null): void {
    const [prefix, directory] = [`${basename(this.path)}.`, dirname(this.path)]
    for (const name of readdirSync(directory)) {
      const isTable =
        name.startsWith(prefix) &&
        /^[0-9a-f]{8}\.agents(?:\.larger)?$/.test(name.slice(prefix.length))
      if (isTable && name !== used) rmSync(join(directory, name), { force: true })
    }
  }

  /** Keeps evidence against the log in a file beside the state. The same evidence is kept once. @returns its path */
  async keepEvidence(evidence: object): Promise<string> {
    const text = `${jsonText(evidence, 2)}\n`
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
    const path = `${this.path}.evidence-${digest}.json`
    if (!existsSync(path)) await writeDurably(path, text)
    return path
  }

  release(): void {
    if (this.#holder() === this.#owner) rmSync(this.#lock, { force: true })
  }

  async #acquire(): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt++) {
      if (await createOnly(this.#lock, this.#owner)) return
      const holder = this.#holder()
      if (holder !== null && isRunning(holder)) break
      this.#removeStale(holder)
    }
    const message = `Another run uses ${this.path}. Wait for it to end, or choose another file with --state. If there is none, delete ${this.#lock}.`
    throw new Failure('STATE_LOCKED', message)
  }

  /** Of several processes that find the same stale lock, none removes the new lock of another. */
  #removeStale(holder: string | null): void {
    const moved = `${this.#lock}.${randomUUID()}`
    try {
      renameSync(this.#lock, moved)
    } catch {
      return
    }
    const isStale = readIfThere(moved) === holder
    if (!isStale && !existsSync(this.#lock)) renameSync(moved, this.#lock)
    rmSync(moved, { force: true })
  }

  #holder(): string | null {
    return readIfThere(this.#lock)
  }

  #assertOwned(): void {
    if (this.#holder() === this.#owner) return
    throw new Failure('STATE_LOCKED', `Another run has taken ${this.path} over.`)
  }
}

async function createOnly(path: string, text: string): Promise<boolean> {
  try {
    await writeDurably(path, text, { replace: false })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

function isRunning(holder: string): boolean {
  const pid = Number.parseInt(holder, 10)
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function formatState({ frontier, ...state }: LogState): object {
  const subtrees = frontier.subtrees.map(encodeBase64)
  return { version: VERSION, ...state, size: frontier.size, subtrees }
}

function parseState(text: string): LogState | null {
  try {
    const state = JSON.parse(text)
    const size = parseTreeSize(String(state.size))
    const subtrees: (Uint8Array | null)[] = state.subtrees.map(decodeKey)
    const isWellFormed =
      state.version === VERSION &&
      parseVerifierKey(state.verifierKey) !== null &&
      size !== null &&
      subtrees.every((each) => each !== null) &&
      subtrees.length === countOnes(size) &&
      typeof state.checkpoint === 'string' &&
      Number.isSafeInteger(state.violations) &&
      typeof state.agents === 'string' &&
      basename(state.agents) === state.agents
    if (!isWellFormed) return null
    const { verifierKey, checkpoint, violations, agents, watch } = state
    const frontier = new TreeFrontier(size, subtrees as Uint8Array[])
    return { verifierKey, frontier, checkpoint, violations, agents, watch: watch ?? null }
  } catch {
    return null
  }
}

function countOnes(size: number): number {
  return size.toString(2).replaceAll('0', '').length
}

/**
 * Writes a file, so that it is on disk before this returns, and nobody ever reads a part of it.
 * @param options `replace`: whether to replace an existing file. Default: true; otherwise the error has the code EEXIST. `mode`:
 *   default: for its owner only
 */
export async function writeDurably(
  path: string,
  content: string | Uint8Array,
  { replace = true, mode = 0o600 }: { readonly replace?: boolean; readonly mode?: number } = {},
): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  try {
    await writeNew(draft, content, mode)
    await (replace ? rename(draft, path) : link(draft, path))
  } finally {
    await rm(draft, { force: true })
  }
  await syncDirectory(dirname(path))
}

async function writeNew(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Windows cannot open directories and needs no sync. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
