import { appendFileSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterEach, beforeEach } from 'node:test'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded before the test files of a process: notes which file each test belongs to and what it cost, so that the runner
 * sees files of which no test ran.
 */
const file = process.env.TEST_COSTS as string

/** What one test cost. What tests inside another cost is part of that one. */
export interface Cost {
  readonly path: string
  /** Processor time of this process, and on Linux of the programs that it ran and that have ended. */
  readonly cpuMs: number
  readonly ms: number
}

const TICKS_PER_SECOND = 100

let depth = 0
let began = { cpuMs: readCpuMs(), at: performance.now() }

// Worker threads inherit the options of the process, and run no tests.
if (isMainThread) {
  beforeEach(() => {
    if (depth++ === 0) began = { cpuMs: readCpuMs(), at: performance.now() }
  })

  afterEach((context) => {
    const isOutermost = --depth === 0
    const path = 'filePath' in context ? (context.filePath ?? '') : ''
    // For a file without tests, Node reports one with the name of the file.
    if (resolve(context.name) === path) return
    const cost: Cost = {
      path,
      cpuMs: isOutermost ? readCpuMs() - began.cpuMs : 0,
      ms: isOutermost ? performance.now() - began.at : 0,
    }
    appendFileSync(file, `${JSON.stringify(cost)}\n`)
  })
}

function readCpuMs(): number {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  // The name of the program, in brackets, is the last field that may hold a space; utime is the 14th of proc(5).
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
  return times.reduce((sum, ticks) => sum + Number(ticks), 0) * (1000 / TICKS_PER_SECOND)
}
