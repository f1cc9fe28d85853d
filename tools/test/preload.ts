import { appendFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterEach, beforeEach } from 'node:test'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded before the test files of a process: notes which file each test belongs to and what it cost, so that the runner
 * sees files of which no test ran.
 */
const file = process.env.TEST_COSTS as string

/** What one test cost this process. What tests inside another cost is part of that one. */
export interface Cost {
  readonly path: string
  readonly cpuMs: number
  readonly ms: number
}

let depth = 0
let began = { cpu: process.cpuUsage(), at: performance.now() }

// Worker threads inherit the options of the process, and run no tests.
if (isMainThread) {
  beforeEach(() => {
    if (depth++ === 0) began = { cpu: process.cpuUsage(), at: performance.now() }
  })

  afterEach((context) => {
    const isOutermost = --depth === 0
    const path = 'filePath' in context ? (context.filePath ?? '') : ''
    // For a file without tests, Node reports one with the name of the file.
    if (resolve(context.name) === path) return
    const { user, system } = process.cpuUsage(began.cpu)
    const cost: Cost = {
      path,
      cpuMs: isOutermost ? (user + system) / 1000 : 0,
      ms: isOutermost ? performance.now() - began.at : 0,
    }
    appendFileSync(file, `${JSON.stringify(cost)}\n`)
  })
}
