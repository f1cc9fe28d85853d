import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const WINDOW_MS = 1000
/** The machine counts as idle if other programs use less than this share of its processors. */
const IDLE_THRESHOLD = 0.1

/** Limits the total time that a run waits for other programs. */
export class WaitBudget {
  #leftMs: number

  constructor(seconds: number) {
    this.#leftMs = seconds * 1000
  }

  get isExhausted(): boolean {
    return this.#leftMs <= 0
  }

  /** Resolves when the machine was idle for a second, or the time is used up. */
  async waitUntilIdle(): Promise<void> {
    while (!this.isExhausted && (await this.spend(busyShare)) > IDLE_THRESHOLD) {}
  }

  /** Subtracts the time that some work needs from the remaining waiting time. */
  async spend<T>(work: () => Promise<T>): Promise<T> {
    const started = performance.now()
    const result = await work()
    this.#leftMs -= performance.now() - started
    return result
  }
}

/** The share of all processors in use during one second. */
async function busyShare(): Promise<number> {
  const before = processorTimes()
  await sleep(WINDOW_MS)
  const after = processorTimes()
  return 1 - (after.idle - before.idle) / (after.all - before.all)
}

function processorTimes(): { idle: number; all: number } {
  let idle = 0
  let all = 0
  for (const { times } of cpus()) {
    idle += times.idle
    all += times.user + times.nice + times.sys + times.idle + times.irq
  }
  return { idle, all }
}
