import { type Ask, JSON_TYPE } from './exchange.ts'
import { linesOf, someTails } from './lines.ts'
import type { Load } from './load.ts'
import { type ReadQuestion, VERIFY_PATH, type VerifyQuestion } from './questions.ts'
import type { Seed } from './seed.ts'

/** What the questions are about: agents and challenges of a seed. */
export interface Material {
  readonly seed: Seed
  /** Tails from all over the seed, the hot one first. */
  readonly tails: readonly [string, ...string[]]
  readonly challenges: readonly [string, ...string[]]
}

export function materialOf(seed: Seed): Material {
  const challenges = linesOf(seed.challenges) as [string, ...string[]]
  return { seed, tails: someTails(seed.tails), challenges }
}

export type PublicQuestion = ReadQuestion | VerifyQuestion

/** One request of each that a question is made of: as many as there are samples. */
export function asksOf(question: PublicQuestion, material: Material): readonly [Ask, ...Ask[]] {
  if (question.kind === 'verify') return mapped(material.challenges, verifyAsk)
  const { before, after, headers, over } = question
  const tails = over === 'one' ? ([material.tails[0]] as const) : material.tails
  return mapped(tails, (tail) => ({ method: 'GET', path: `${before}${tail}${after}`, headers }))
}

export function verifyAsk(body: string): Ask {
  return { method: 'POST', path: VERIFY_PATH, headers: JSON_TYPE, body }
}

/** The same question as a task for a load generator, over all that the seed has. */
export function loadOf(
  question: PublicQuestion,
  { seed }: Material,
  where: Pick<Load, 'port' | 'connections' | 'seconds'>,
): Load {
  if (question.kind === 'verify') {
    const file = seed.challenges
    return { ...where, method: 'POST', before: VERIFY_PATH, after: '', file, headers: JSON_TYPE }
  }
  const { before, after, headers, over } = question
  const file = over === 'one' ? seed.hotTail : seed.tails
  return { ...where, method: 'GET', before, after, file, headers }
}

function mapped<T>(items: readonly [T, ...T[]], make: (item: T) => Ask): [Ask, ...Ask[]] {
  return items.map(make) as [Ask, ...Ask[]]
}
