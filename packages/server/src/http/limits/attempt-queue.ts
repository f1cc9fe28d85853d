import { CodedError } from '@countersign/protocol'
import type { QuotaState } from './quota.ts'

/** Over all quotas of a process: each queued request is held in memory. */
const MAX_QUEUED = 1024
/** A client that has waited longer has most likely disconnected. */
const QUEUE_TIMEOUT_MS = 5000
const RETRY_AFTER_SECONDS = 1

/** A request that may fail and then take one from a quota of failures. */
export interface Attempt {
  /** The quota as the attempt begins. */
  readonly state: QuotaState
  /** Call once, after a failure has been taken from the quota. */
  end(): void
}

/** The attempts under one quota. */
interface Group {
  active: number
  readonly queue: ((state: QuotaState) => void)[]
}

/**
 * Runs no more attempts at once than failures are left in the quota, since each of them could fail. Others are not
 * rejected, because all may turn out valid: they wait until an attempt has ended. When the quota is used up, all waiting
 * attempts are rejected.
 */
export class AttemptQueue {
  readonly #groups = new Map<string, Group>()
  #queued = 0

  /**
   * @param key identifies the quota
   * @param readState reads the quota as this process knows it now
   * @throws CodedError UNAVAILABLE if too many are waiting, or after waiting too long
   */
  async begin(key: string, readState: () => QuotaState): Promise<Attempt> {
    const state = readState()
    if (!state.isAllowed) return rejected(state)
    const group = this.#groups.get(key) ?? { active: 0, queue: [] }
    this.#groups.set(key, group)
    const end = () => this.#end(key, group, readState)
    if (group.queue.length === 0 && group.active < state.remaining) {
      group.active += 1
      return { state, end }
    }
    const later = await this.#wait(group)
    return later.isAllowed ? { state: later, end } : rejected(later)
  }

  async #wait({ queue }: Group): Promise<QuotaState> {
    if (this.#queued >= MAX_QUEUED) throw tooManyError()
    this.#queued += 1
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<QuotaState>((resolve, reject) => {
        queue.push(resolve)
        timer = setTimeout(() => {
          queue.splice(queue.indexOf(resolve), 1)
          reject(tooManyError())
        }, QUEUE_TIMEOUT_MS)
      })
    } finally {
      clearTimeout(timer)
      this.#queued -= 1
    }
  }

  #end(key: string, group: Group, readState: () => QuotaState): void {
    const { queue } = group
    group.active -= 1
    const state = readState()
    if (!state.isAllowed) for (const reject of queue.splice(0)) reject(state)
    // An allowed state has at least one remaining, so a queue without active attempts always moves on.
    const free = Math.max(0, state.remaining - group.active)
    const next = queue.splice(0, free)
    group.active += next.length
    for (const admit of next) admit(state)
    if (group.active === 0) this.#groups.delete(key)
  }
}

function rejected(state: QuotaState): Attempt {
  return { state, end: () => undefined }
}

function tooManyError(): CodedError {
  return new CodedError(
    'UNAVAILABLE',
    'Too many claims at once. Nothing was done: try again in a second.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  )
}
