import { WEBHOOK_FORMATS, type WebhookFormat } from '@countersign/protocol'
import { WorkLoop } from '../database/jobs/work-loop.ts'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../database/schema/webhook-rows.ts'
import { OutcomeCounter } from '../http/metrics/outcome-counter.ts'
import { type Attempt, attempt, type DeliveryDeps, resultRow } from './attempt.ts'
import {
  backlogs,
  deleteDeliveriesBefore,
  isAnyBefore,
  nextDelivery,
  recordAttempt,
} from './delivery-table.ts'
import { disable } from './disable.ts'
import {
  countEndpoints,
  dueEndpoints,
  endpointById,
  endpointsFailingSince,
  extendAfterSuccess,
  leaseEndpoint,
  releaseAfterFailure,
  releaseEndpoint,
} from './endpoint-table.ts'
import { fanOut } from './fan-out.ts'
import type { WebhookDeps } from './manage-endpoints.ts'

/** How many endpoints are served at once. */
const AT_ONCE = 32
/** Longer than any attempt, so that a lease only times out if its node died. */
const LEASE_MS = 60_000
/** After this time, other endpoints have their turn. */
const TURN_MS = 15_000

const FIRST_RETRY_MS = 10_000
const RETRY_FACTOR = 4
const MAX_RETRY_MS = 6 * 3_600_000
/** A delivery that fails so long after it was queued is given up. */
const GIVE_UP_MS = 3 * 86_400_000
/** An endpoint at which nothing has succeeded for this time is disabled. */
const DISABLE_MS = 5 * 86_400_000

/** How long the log lists a delivery. */
const LOG_MS = 30 * 86_400_000
const CLEAN_UP_MS = 3_600_000

/**
 * Delivers events to endpoints: in order, one at a time for each endpoint. Several nodes on one database share the work
 * through leases of endpoints. A delivery whose node died is sent again, with the same `webhook-id`.
 */
export class DueDeliveries {
  readonly #deps: DeliveryDeps
  readonly #report: (error: unknown) => void
  /** By format. `gave_up`: the last attempt of 3 days failed. */
  readonly #outcomes = new Map(
    WEBHOOK_FORMATS.map((each) => [each, new OutcomeCounter(['delivered', 'failed', 'gave_up'])]),
  )
  readonly #loop: WorkLoop
  #cleanedUpAt = Number.NEGATIVE_INFINITY

  /** @param report is called with errors that are not those of receivers */
  constructor(deps: DeliveryDeps, report: (error: unknown) => void) {
    this.#deps = deps
    this.#report = report
    this.#loop = new WorkLoop({
      poll: (stopping) => this.#poll(stopping),
      concurrency: AT_ONCE,
      onError: report,
    })
  }

  /** The number of attempts by the format of the endpoint and how they ended. */
  get outcomes(): ReadonlyMap<WebhookFormat, ReadonlyMap<string, number>> {
    return new Map([...this.#outcomes].map(([format, { counts }]) => [format, counts]))
  }

  /** Queues deliveries of new events, and starts to send what is due. Resolves when it is started. */
  run(): Promise<void> {
    return this.#loop.run()
  }

  /** Starts no further attempt and aborts those in progress. Afterwards nothing uses the database. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #poll(stopping: AbortSignal): Promise<void> {
    const { db, now } = this.#deps
    while (!stopping.aborted && (await fanOut(this.#deps)));
    await this.#disableFailing()
    await this.#cleanUp()
    if (this.#loop.isFull) return
    for (const id of await dueEndpoints(db.read, now(), AT_ONCE))
      this.#loop.start(id, (stopped) => this.#serve(id, stopped))
  }

  /** @returns whether to poll again at once */
  async #serve(id: string, stopped: AbortSignal): Promise<boolean> {
    try {
      return await this.#takeTurn(id, stopped)
    } catch (error) {
      this.#report(error)
      return false
    }
  }

  /** Delivers what waits at an endpoint, until an attempt fails or the turn is over. */
  async #takeTurn(id: string, stopped: AbortSignal): Promise<boolean> {
    const { db, now } = this.#deps
    const leased_by = Buffer.from(this.#deps.randomBytes(12)).toString('base64url')
    const began = now()
    const terms = { now: began, until: began + LEASE_MS }
    let endpoint = await db.write((tx) => leaseEndpoint(tx, { id, leased_by }, terms))
    while (endpoint !== undefined && !stopped.aborted && now() - began < TURN_MS) {
      const delivery = await nextDelivery(db.read, id)
      if (delivery === undefined) break
      const result = await attempt(this.#deps, endpoint, delivery, stopped)
      if (result.problem === null) {
        endpoint = await this.#recordSuccess(endpoint, delivery, result)
        continue
      }
      // Nobody knows whether the receiver has it. The next turn sends it again.
      if (stopped.aborted) break
      await this.#recordFailure(endpoint, delivery, result)
      return false
    }
    if (endpoint === undefined) return false
    const held = endpoint
    // Due now, after all endpoints that have waited.
    await db.write((tx) => releaseEndpoint(tx, held, now()))
    return !stopped.aborted
  }

  /** @returns the endpoint; undefined if this turn no longer holds it, or it is no longer active */
  async #recordSuccess(
    endpoint: WebhookEndpointRow,
    delivery: WebhookDeliveryRow,
    result: Attempt,
  ): Promise<WebhookEndpointRow | undefined> {
    const { db, now } = this.#deps
    const at = now()
    const held = await db.write(async (tx) => {
      await recordAttempt(tx, delivery.id, resultRow('delivered', result))
      return extendAfterSuccess(tx, endpoint, { at, until: at + LEASE_MS })
    })
    this.#outcomes.get(endpoint.format)?.add('delivered')
    return held
  }

  async #recordFailure(
    endpoint: WebhookEndpointRow,
    delivery: WebhookDeliveryRow,
    result: Attempt,
  ): Promise<void> {
    const { db, now } = this.#deps
    const at = now()
    const isGivenUp = at - delivery.created_at >= GIVE_UP_MS
    const dueAt = at + Math.min(FIRST_RETRY_MS * RETRY_FACTOR ** endpoint.failures, MAX_RETRY_MS)
    await db.write(async (tx) => {
      await recordAttempt(tx, delivery.id, resultRow(isGivenUp ? 'failed' : 'pending', result))
      await releaseAfterFailure(tx, endpoint, { at, dueAt })
      if (result.isGone) await disable(tx, endpoint.id, 'gone', at)
    })
    this.#outcomes.get(endpoint.format)?.add(isGivenUp ? 'gave_up' : 'failed')
  }

  async #disableFailing(): Promise<void> {
    const { db, now } = this.#deps
    const at = now()
    for (const { id } of await endpointsFailingSince(db.read, at - DISABLE_MS)) {
      await db.write(async (tx) => {
        const { failing_since: since } = (await endpointById(tx.db, id)) ?? { failing_since: null }
        if (since !== null && since <= at - DISABLE_MS) await disable(tx, id, 'failing', at)
      })
    }
  }

  async #cleanUp(): Promise<void> {
    const { db, now } = this.#deps
    const at = now()
    if (at - this.#cleanedUpAt < CLEAN_UP_MS) return
    this.#cleanedUpAt = at
    if (!(await isAnyBefore(db.read, at - LOG_MS))) return
    await db.write((tx) => deleteDeliveriesBefore(tx, at - LOG_MS))
  }
}

/** What waits at all active endpoints. */
export interface WaitingDeliveries {
  readonly count: number
  /** Seconds since the oldest was queued. */
  readonly oldestSeconds: number
  /** Seconds since the longest due attempt was due. If it grows, the service does not send; receivers do not matter. */
  readonly lateSeconds: number
}

/** Measures what waits. */
export async function measureWaiting({
  db,
  now,
}: Pick<WebhookDeps, 'db' | 'now'>): Promise<WaitingDeliveries> {
  const at = now()
  const all = await backlogs(db.read)
  const secondsSince = (moments: readonly number[]) =>
    Math.max(0, ...moments.map((moment) => (at - moment) / 1000))
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    oldestSeconds: secondsSince(all.map(({ oldestAt }) => oldestAt)),
    lateSeconds: secondsSince(all.map(({ oldestAt, dueAt }) => Math.max(oldestAt, dueAt))),
  }
}

/** The number of endpoints by whose they are and their state, `failing` for active ones whose last attempt failed. */
export async function countEndpointStates({ db }: Pick<WebhookDeps, 'db'>) {
  const counts = await countEndpoints(db.read)
  return (['owners', 'operator'] as const).flatMap((owner) =>
    ['active', 'failing', 'paused', 'disabled'].map((state) => {
      const same = counts.filter(
        (each) =>
          each.isOperator === (owner === 'operator') &&
          (each.state === 'active' && each.isFailing ? 'failing' : each.state) === state,
      )
      return { owner, state, count: same.reduce((sum, { count }) => sum + count, 0) }
    }),
  )
}
