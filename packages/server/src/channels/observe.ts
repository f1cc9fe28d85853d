import type { ChannelCheck, CheckOutcome } from '@countersign/protocol'
import { type Perspective, ProofAbsent, Unreachable } from '../http/outbound/perspective.ts'
import type { CheckResult } from './channel-state.ts'
import type { Proof, ProofCheck, ProofQuery } from './kinds/kind.ts'

type PerspectiveResult = ChannelCheck['perspectives'][number]

/** What the perspectives found together, and each of them alone. */
export interface Observation extends CheckResult {
  readonly perspectives: readonly PerspectiveResult[]
}

/** The observation of one proof, before it is known whether its token counts as fresh. */
type ProofObservation = Omit<Observation, 'token'>

interface View {
  readonly result: PerspectiveResult
  /** By which method the proof was found; null if it was not. */
  readonly method: string | null
}

/** The proofs that a check accepts. */
export interface ExpectedProofs<P = Proof> {
  /** The proof that the owner is asked to place; null if there is none or it has expired. */
  readonly fresh: P | null
  /** The proof that proved the place before, and by which method. */
  readonly known: { readonly proof: P; readonly method: string } | null
  /** The time of the check in milliseconds since 1970. */
  readonly now: number
}

/** What can be proven, such as a kind of channel. */
interface Provable<P> {
  /** Null if the agent itself proves it. */
  readonly check: ProofCheck<P> | null
}

/**
 * Looks for a proof from the perspectives that its check requires: first for the fresh proof, then, if that is
 * not found, for the one that proved the channel before.
 * @param signal ends the check: a perspective that has not answered by then counts as unreachable
 */
export async function observe<P>(
  kind: Provable<P>,
  perspectives: readonly Perspective[],
  { fresh, known, now }: ExpectedProofs<P>,
  signal: AbortSignal,
): Promise<Observation> {
  const memoized = perspectives.map((each) => memoizePerspective(each, signal))
  const freshQuery = fresh && { proof: fresh, provenBy: null, now }
  const forFresh = freshQuery && (await observeProof(kind, memoized, freshQuery))
  if (forFresh?.outcome === 'proven') return { ...forFresh, token: 'fresh' }
  if (known === null) return { ...(forFresh ?? NO_QUERY), token: null }
  const knownQuery = { proof: known.proof, provenBy: known.method, now }
  const forKnown = await observeProof(kind, memoized, knownQuery)
  return {
    ...forKnown,
    perspectives: forFresh === null ? forKnown.perspectives : withBothDetails(forFresh, forKnown),
    token: forKnown.outcome === 'proven' ? 'known' : null,
  }
}

const NO_QUERY = { outcome: 'absent', method: null, perspectives: [] } as const

/** The results for the known token, which decide the outcome, with what was found of the fresh token added for the owner. */
function withBothDetails(fresh: ProofObservation, known: ProofObservation): PerspectiveResult[] {
  const freshDetails = new Map(fresh.perspectives.map(({ name, detail }) => [name, detail]))
  return known.perspectives.map(({ name, outcome, detail }) => {
    const freshDetail = freshDetails.get(name)
    const prefix = freshDetail === undefined ? '' : `The new token: ${freshDetail} `
    return { name, outcome, detail: `${prefix}The token before it: ${detail}` }
  })
}

async function observeProof<P>(
  kind: Provable<P>,
  perspectives: readonly Perspective[],
  query: ProofQuery<P>,
): Promise<ProofObservation> {
  if (kind.check === null) return NO_QUERY
  if (kind.check.agreement === 'first') return observeUntilKnown(kind, perspectives, query)
  const views = await Promise.all(perspectives.map((each) => viewFrom(each, kind, query)))
  return { ...majorityOf(views), perspectives: views.map(({ result }) => result) }
}

/** More than half must find the proof by the same method, or find that there is none; anything else is unreachable. */
function majorityOf(views: readonly View[]): Pick<Observation, 'outcome' | 'method'> {
  const majority = Math.floor(views.length / 2) + 1
  for (const [method, group] of Map.groupBy(views, (each) => each.method)) {
    if (method !== null && group.length >= majority) return { outcome: 'proven', method }
  }
  const absent = views.filter(({ result }) => result.outcome === 'absent').length >= majority
  return { outcome: absent ? 'absent' : 'unreachable', method: null }
}

/** Asks one perspective after another until one of them is not unreachable. */
async function observeUntilKnown<P>(
  kind: Provable<P>,
  perspectives: readonly Perspective[],
  query: ProofQuery<P>,
): Promise<ProofObservation> {
  const views: View[] = []
  for (const perspective of perspectives) {
    const view = await viewFrom(perspective, kind, query)
    views.push(view)
    if (view.result.outcome !== 'unreachable') break
  }
  const last = views.at(-1)
  return {
    outcome: last?.result.outcome ?? 'unreachable',
    method: last?.method ?? null,
    perspectives: views.map(({ result }) => result),
  }
}

async function viewFrom<P>(
  from: Perspective,
  kind: Provable<P>,
  query: ProofQuery<P>,
): Promise<View> {
  const { name } = from
  try {
    const found = await kind.check?.observe(from, query)
    if (found === undefined) throw new Unreachable('No check exists for this method.')
    return { result: { name, outcome: 'proven', detail: found.detail }, method: found.method }
  } catch (error) {
    const outcome = outcomeOf(error)
    return { result: { name, outcome, detail: (error as Error).message }, method: null }
  }
}

/** @throws the error itself if it is a bug and no result of a check */
function outcomeOf(error: unknown): CheckOutcome {
  if (error instanceof ProofAbsent) return 'absent'
  if (error instanceof Unreachable) return 'unreachable'
  throw error
}

/**
 * Wraps a perspective for one check. It sends each query once, because several tokens and methods look at the same place,
 * and rejects with Unreachable once the check has ended.
 * @param signal ends the check
 */
export function memoizePerspective(from: Perspective, signal: AbortSignal): Perspective {
  const answers = new Map<string, Promise<unknown>>()
  const ended = new Promise<never>((_resolve, reject) => {
    const end = () => reject(new Unreachable('The check timed out.'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
  // Without a handler, a check that ends while nothing waits for it would be an unhandled rejection.
  ended.catch(() => undefined)
  const once = <T>(key: string, send: () => Promise<T>): Promise<T> => {
    if (signal.aborted) return ended
    const known = answers.get(key) as Promise<T> | undefined
    if (known !== undefined) return known
    const answer = Promise.race([send(), ended])
    answers.set(key, answer)
    return answer
  }
  return {
    name: from.name,
    txt: (name) => once(`TXT ${name}`, () => from.txt(name)),
    get: (url, accept) => once(`GET ${url.href} ${accept}`, () => from.get(url, accept)),
  }
}
