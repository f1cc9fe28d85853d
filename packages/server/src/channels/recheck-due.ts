import { CHECK_OUTCOMES } from '@countersign/protocol'
import { type CheckEnd, checkChannel } from './check-channel.ts'
import { dueChannels, firstDue } from './check-table.ts'
import type { ChannelDeps } from './deps.ts'

/** So many checks are under way at once: they wait for others' servers, not for ours. */
const AT_ONCE = 8

/** How a check ended that the service made by itself; `failed`: by a mistake of ours. */
type RecheckEnd = Exclude<CheckEnd, 'taken'> | 'failed'

/**
 * Checks the channels that are due, a few at a time, for as long as the service runs. Several services on one database
 * share the work: each check is under a lease.
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

  /** @param report is told of what goes wrong: one check hurts no other */
  constructor(deps: ChannelDeps, report: (error: unknown) => void) {
    this.#deps = deps
    this.#report = report
  }

  /** How many checks have ended how. */
  get ended(): ReadonlyMap<RecheckEnd, number> {
    return this.#ended
  }

  /** Begins what is due, as far as there is room. Called again and again; resolves once that much is begun. */
  run(): Promise<void> {
    this.#filling ??= this.#fill()
      .catch(this.#report)
      .finally(() => {
        this.#filling = null
      })
    return this.#filling
  }

  /** Begins no more, and gives up what is under way with its leases. After it the database is left alone. */
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

  /** @returns whether to go on at once: what fails, or is another's, waits for the next call, so that nothing spins */
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

/** By how many seconds the channel is late that has been due longest: how far behind the checks are. */
export async function secondsLate({ db, now }: Pick<ChannelDeps, 'db' | 'now'>): Promise<number> {
  const due = await firstDue(db.read)
  return due === null ? 0 : Math.max(0, (now() - due) / 1000)
}
