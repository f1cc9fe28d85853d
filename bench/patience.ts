import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const WINDOW_MS = 1000
/** The share of the processors that others may take where the machine counts as quiet. */
const OTHERS = 0.1

/** How long a run may wait, in all, for other programs on the machine to leave it alone. */
export class Patience {
  #leftMs: number

  constructor(seconds: number) {
    this.#leftMs = seconds * 1000
  }

  get isOver(): boolean {
    return this.#leftMs <= 0
  }

  /** Resolves when the machine has been quiet for a second, or the patience is over. */
  async untilQuiet(): Promise<void> {
    while (!this.isOver && (await this.spend(busyShare)) > OTHERS) {}
  }

  /** Takes the time that some work needs out of the patience. */
  async spend<T>(work: () => Promise<T>): Promise<T> {
    const started = performance.now()
    const result = await work()
    this.#leftMs -= performance.now() - started
    return result
  }
}

/** The share of all processors that was in use for a second. */
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
