import { CountersignError } from '../errors.ts'
import { isTransient, pause } from '../http/retry.ts'
import { type Enrolment, type EnrolOptions, Workload } from './enrol.ts'

/** What `keepEnrolled` tells, and when it stops. */
export interface KeepEnrolledOptions {
  /** Stops the renewals. The agent goes on until `endsAt`: call `end` to end it at once. */
  readonly signal?: AbortSignal | undefined
  /** Called with the first enrolment, and when the workload has another DID than before. Renewals wait for it. */
  readonly onChanged?: ((enrolment: Enrolment) => void | Promise<void>) | undefined
  /** Called after a failure that is retried. @param retryAt milliseconds since 1970 */
  readonly onFailure?: ((error: unknown, retryAt: number) => void) | undefined
}

/** How far renewals are spread, so that workloads that have started together do not stay together. */
const SPREAD = 0.1
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 300_000
/** A timer stands still while a machine sleeps, so the clock is read at least this often. */
const LONGEST_PAUSE_MS = 60_000

/**
 * Enrols a workload and renews its agent until `signal` aborts. It renews at `renewAfter`, varied by 10 %, and retries after failures, at
 * first after a second and at most every 5 minutes, or when the service says. An enrolment that is on its way when `signal` aborts is
 * completed, so that `onChanged` gets every agent that is to be ended.
 * @returns when `signal` has aborted
 * @throws CountersignError as `enrol`, if the first enrolment is refused; failures of the network, and later refusals, are retried
 */
export async function keepEnrolled(
  options: EnrolOptions,
  { signal, onChanged, onFailure }: KeepEnrolledOptions = {},
): Promise<void> {
  const workload = new Workload(options)
  const now = options.now ?? Date.now
  let did: string | null = null
  let failures = 0
  while (signal?.aborted !== true) {
    const outcome = await outcomeOf(workload)
    let due: number
    if ('error' in outcome) {
      const { error } = outcome
      if (did === null && !mayPass(error)) throw error
      due = now() + retryDelay(failures, error)
      failures += 1
      onFailure?.(error, due)
    } else {
      failures = 0
      due = now() + renewalDelay(outcome, now())
      const isChanged = outcome.did !== did
      did = outcome.did
      if (isChanged) await onChanged?.(outcome)
    }
    await pauseUntil(due, now, signal)
  }
}

async function outcomeOf(workload: Workload): Promise<Enrolment | { readonly error: unknown }> {
  try {
    return await workload.enrol()
  } catch (error) {
    return { error }
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof CountersignError && isTransient(error)
}

function renewalDelay({ renewAfter }: Enrolment, now: number): number {
  const spread = 1 - SPREAD + 2 * SPREAD * Math.random()
  return Math.round(Math.max(FIRST_RETRY_MS, (Date.parse(renewAfter) - now) * spread))
}

function retryDelay(failures: number, error: unknown): number {
  const longest = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures)
  const delay = Math.round(longest * (0.5 + Math.random() / 2))
  const asked = error instanceof CountersignError ? error.retryAfterMs : null
  return asked === null ? delay : asked + delay
}

/** Returns early if the signal aborts. */
async function pauseUntil(
  due: number,
  now: () => number,
  signal: AbortSignal | undefined,
): Promise<void> {
  while (signal?.aborted !== true && now() < due) {
    const milliseconds = Math.min(due - now(), LONGEST_PAUSE_MS)
    await pause(milliseconds, signal).catch((error) => {
      if (signal?.aborted !== true) throw error
    })
  }
}
