import { CHECK_OUTCOMES } from '@countersign/protocol'
import { type CheckEnd, checkChannel } from './check-channel.ts'
import { dueChannels, firstDue } from './check-table.ts'
import type { ChannelDeps } from './deps.ts'

/** How many checks run at once. They mostly wait for other servers. */
const AT_ONCE = 8

/** How a scheduled check ended; `failed`: by a bug. */
type RecheckEnd = Exclude<CheckEnd, 'taken'> | 'failed'

/**
 * Checks the channels that are due, a few at a time, while the service runs. Several nodes on one database share the work
 * through leases.
 */
export class DueChecks {
  readonly #deps: ChannelDeps
  readonly #report: (error: unknown) => void
  readonly #ended = new Map<RecheckEnd, number>(
    [...CHECK_OUTCOMES, 'failed' as const].map((each) => [each, 0]),
  )
  readonly #running = new Map<string, { readonly stop: AbortController; done: Promise<void> }>()
  #filling: Promise<void> | null = null
  #stopped = false

  /** @param report receives errors; one failed check does not affect the others */
  constructor(deps: ChannelDeps, report: (error: unknown) => void) {
    this.#deps = deps
    this.#report = report
  }

  /** The number of checks by how they ended. */
  get ended(): ReadonlyMap<RecheckEnd, number> {
    return this.#ended
  }

  /** Starts checks that are due, up to the limit. Call it repeatedly; it resolves when they have started. */
  run(): Promise<void> {
    this.#filling ??= this.#fill()
      .catch(this.#report)
      .finally(() => {
        this.#filling = null
      })
    return this.#filling
  }

  /** Starts no more checks, aborts those in progress and releases their leases. Uses the database no more once resolved. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const { stop } of this.#running.values()) stop.abort()
    await this.#filling
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  async #fill(): Promise<void> {
    if (this.#stopped || this.#running.size >= AT_ONCE) return
    const now = this.#deps.now()
    for (const { channel_id: id } of await dueChannels(this.#deps.db.read, now, AT_ONCE)) {
      if (this.#stopped || this.#running.size >= AT_ONCE) return
      if (!this.#running.has(id)) this.#begin(id, now)
    }
  }

  #begin(id: string, dueBy: number): void {
    const stop = new AbortController()
    const done = this.#check(id, dueBy, stop.signal).then((more) => {
      this.#running.delete(id)
      if (more) void this.run()
    })
    this.#running.set(id, { stop, done })
  }

  /** @returns whether to look for more work at once. After a failure or a taken lease it waits for the next call, to avoid spinning. */
  async #check(id: string, dueBy: number, stopped: AbortSignal): Promise<boolean> {
    try {
      const end = await checkChannel(this.#deps, id, { dueBy, stopped })
      if (end !== 'taken') this.#count(end)
      return end !== 'taken'
    } catch (error) {
      this.#report(error)
      this.#count('failed')
      return false
    }
  }

  #count(end: RecheckEnd): void {
    this.#ended.set(end, (this.#ended.get(end) ?? 0) + 1)
  }
}

/** How late the oldest due check is, in seconds; 0 if none is due. */
export async function secondsLate({ db, now }: Pick<ChannelDeps, 'db' | 'now'>): Promise<number> {
  const due = await firstDue(db.read)
  return due === null ? 0 : Math.max(0, (now() - due) / 1000)
}
