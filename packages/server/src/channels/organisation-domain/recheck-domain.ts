import { WorkLoop } from '../../database/jobs/work-loop.ts'
import { checkDomain } from './check-domain.ts'
import type { DomainDeps } from './organisation-domain.ts'
import { dueDomains } from './organisation-domain-table.ts'

/** How many checks run at once. They mostly wait for other servers. */
const AT_ONCE = 4

/** Checks the proven domains of organisations once a day while the service runs. Several nodes share the work through leases. */
export class DomainRechecks {
  readonly #deps: DomainDeps
  readonly #report: (error: unknown) => void
  readonly #loop: WorkLoop

  /** @param report is called with errors; one failed check does not affect the others */
  constructor(deps: DomainDeps, report: (error: unknown) => void) {
    this.#deps = deps
    this.#report = report
    this.#loop = new WorkLoop({
      poll: () => this.#startDue(),
      concurrency: AT_ONCE,
      onError: report,
    })
  }

  /** Starts due checks, as many as may be in progress at once. Resolves when they are started. */
  run(): Promise<void> {
    return this.#loop.run()
  }

  /** Starts no further check, and aborts those in progress. Afterwards nothing uses the database. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #startDue(): Promise<void> {
    if (this.#loop.isFull) return
    const now = this.#deps.now()
    for (const orgId of await dueDomains(this.#deps.db.read, now, AT_ONCE))
      this.#loop.start(String(orgId), (stopped) => this.#check(orgId, now, stopped))
  }

  /** @returns whether to poll again at once. Not after a failure, or if another node has the lease, so that nothing spins */
  async #check(orgId: number, dueBy: number, stopped: AbortSignal): Promise<boolean> {
    try {
      return (await checkDomain(this.#deps, orgId, { dueBy, stopped })) !== 'taken'
    } catch (error) {
      this.#report(error)
      return false
    }
  }
}
