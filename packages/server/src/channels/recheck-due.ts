import { CHECK_OUTCOMES } from '@countersign/protocol'
import { WorkLoop } from '../database/jobs/work-loop.ts'
import { type CheckEnd, checkChannel } from './check-channel.ts'
import { dueChannels, firstDue } from './check-table.ts'
import type { ChannelDeps } from './kinds/kind.ts'

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
  readonly #loop: WorkLoop

  /** @param report is called with errors; one failed check does not affect the others */
  constructor(deps: ChannelDeps, report: (error: unknown) => void) {
    this.#deps = deps
    this.#report = report
    this.#loop = new WorkLoop({
      poll: () => this.#startDue(),
      concurrency: AT_ONCE,
      onError: report,
    })
  }

  /** The number of checks by how they ended. */
  get ended(): ReadonlyMap<RecheckEnd, number> {
    return this.#ended
  }

  /** Starts due checks, as many as may be in progress at once. Resolves when they are started. */
  run(): Promise<void> {
    return this.#loop.run()
  }

  /** Starts no further check, and aborts those in progress, which gives up their leases. Afterwards nothing uses the database. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #startDue(): Promise<void> {
    if (this.#loop.isFull) return
    const now = this.#deps.now()
    for (const { channel_id: id } of await dueChannels(this.#deps.db.read, now, AT_ONCE))
      this.#loop.start(id, (stopped) => this.#check(id, now, stopped))
  }

  /** @returns whether to poll again at once. Not after a failure, or if another node has the lease, so that nothing spins */
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
