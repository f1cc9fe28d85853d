import type { ChannelCheck, CheckOutcome } from '@countersign/protocol'
import { type Perspective, ProofAbsent, Unreachable } from '../core/network/perspective.ts'
import type { ChannelKind, Proof, Wanted } from './kinds/kind.ts'
import type { CheckResult } from './schedule.ts'

type Seen = ChannelCheck['perspectives'][number]

export interface Look extends CheckResult {
  readonly perspectives: readonly Seen[]
}

interface View {
  readonly seen: Seen
  readonly method: string | null
}

/** The proofs for which a channel is searched. */
export interface Sought {
  /** What the owner is asked to place now, where its time is not over. */
  readonly fresh: Proof | null
  /** What has proven the channel before, and by which method. */
  readonly known: { readonly proof: Proof; readonly method: string } | null
  readonly now: number
}

/**
 * Looks for the proof of a channel from every perspective that the kind asks for: for the fresh token first, and where
 * there is none of it for the one that was seen before.
 * @param over ends the check: what is not known by then is out of reach
 */
export async function look(
  kind: ChannelKind,
  perspectives: readonly Perspective[],
  { fresh, known, now }: Sought,
  over: AbortSignal,
): Promise<Look> {
  const views = perspectives.map((each) => forOneCheck(each, over))
  const forFresh = fresh && (await lookFor(kind, views, { proof: fresh, provenBy: null, now }))
  if (forFresh?.outcome === 'proven') return { ...forFresh, token: 'fresh' }
  if (known === null) return { ...(forFresh ?? NOTHING_SOUGHT), token: null }
  const wanted = { proof: known.proof, provenBy: known.method, now }
  const forKnown = await lookFor(kind, views, wanted)
  return {
    ...forKnown,
    perspectives: forFresh === null ? forKnown.perspectives : both(forFresh, forKnown),
    token: forKnown.outcome === 'proven' ? 'known' : null,
  }
}

const NOTHING_SOUGHT = { outcome: 'absent', method: null, perspectives: [] } as const

/** What each perspective saw of both tokens. What becomes of the channel is decided by the one that it stands on. */
function both(fresh: Omit<Look, 'token'>, known: Omit<Look, 'token'>): Seen[] {
  const detailOf = new Map(fresh.perspectives.map(({ name, detail }) => [name, detail]))
  return known.perspectives.map(({ name, outcome, detail }) => {
    const ofFresh = detailOf.get(name)
    const told = ofFresh === undefined ? '' : `The new token: ${ofFresh} `
    return { name, outcome, detail: `${told}The token before it: ${detail}` }
  })
}

async function lookFor(
  kind: ChannelKind,
  perspectives: readonly Perspective[],
  wanted: Wanted,
): Promise<Omit<Look, 'token'>> {
  if (kind.check === null) return NOTHING_SOUGHT
  if (kind.check.agreement === 'first') return first(kind, perspectives, wanted)
  const views = await Promise.all(perspectives.map((each) => viewFrom(each, kind, wanted)))
  return { ...agreed(views), perspectives: views.map(({ seen }) => seen) }
}

/** What more than half have seen: the proof by one and the same method, or that there is none. */
function agreed(views: readonly View[]): Pick<Look, 'outcome' | 'method'> {
  const most = Math.floor(views.length / 2) + 1
  for (const [method, those] of Map.groupBy(views, (each) => each.method)) {
    if (method !== null && those.length >= most) return { outcome: 'proven', method }
  }
  const absent = views.filter(({ seen }) => seen.outcome === 'absent').length >= most
  return { outcome: absent ? 'absent' : 'unreachable', method: null }
}

async function first(
  kind: ChannelKind,
  perspectives: readonly Perspective[],
  wanted: Wanted,
): Promise<Omit<Look, 'token'>> {
  const views: View[] = []
  for (const perspective of perspectives) {
    const view = await viewFrom(perspective, kind, wanted)
    views.push(view)
    if (view.seen.outcome !== 'unreachable') break
  }
  const last = views.at(-1)
  return {
    outcome: last?.seen.outcome ?? 'unreachable',
    method: last?.method ?? null,
    perspectives: views.map(({ seen }) => seen),
  }
}

async function viewFrom(from: Perspective, kind: ChannelKind, wanted: Wanted): Promise<View> {
  const { name } = from
  try {
    const found = await kind.check?.look(from, wanted)
    if (found === undefined) throw new Unreachable('Nothing looks for it.')
    return { seen: { name, outcome: 'proven', detail: found.detail }, method: found.method }
  } catch (error) {
    const outcome = outcomeOf(error)
    return { seen: { name, outcome, detail: (error as Error).message }, method: null }
  }
}

/** @throws what is no failure of a check but a mistake of ours */
function outcomeOf(error: unknown): CheckOutcome {
  if (error instanceof ProofAbsent) return 'absent'
  if (error instanceof Unreachable) return 'unreachable'
  throw error
}

/**
 * A perspective for the time of one check. What it was asked once it is not asked again: a place is visited once, however
 * many tokens and methods are looked for. Once the check is over it says that nobody knows.
 */
export function forOneCheck(from: Perspective, over: AbortSignal): Perspective {
  const answers = new Map<string, Promise<unknown>>()
  const ended = new Promise<never>((_resolve, reject) => {
    const end = () => reject(new Unreachable('The check took too long and was given up.'))
    if (over.aborted) end()
    else over.addEventListener('abort', end, { once: true })
  })
  // Nobody may be waiting when it ends.
  ended.catch(() => undefined)
  const once = <T>(question: string, ask: () => Promise<T>): Promise<T> => {
    if (over.aborted) return ended
    const known = answers.get(question) as Promise<T> | undefined
    if (known !== undefined) return known
    const answer = Promise.race([ask(), ended])
    answers.set(question, answer)
    return answer
  }
  return {
    name: from.name,
    txt: (name) => once(`TXT ${name}`, () => from.txt(name)),
    get: (url, accept) => once(`GET ${url.href} ${accept}`, () => from.get(url, accept)),
  }
}
