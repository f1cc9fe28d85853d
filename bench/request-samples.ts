import { type HttpRequest, JSON_TYPE } from './http-exchange.ts'
import { linesOf, sampleTails } from './lines.ts'
import type { Load } from './load.ts'
import { type ReadScenario, VERIFY_PATH, type VerifyScenario } from './scenarios.ts'
import type { Seed } from './seed.ts'

/** The agents and challenges of a seed that requests are made from. */
export interface RequestSamples {
  readonly seed: Seed
  /** Tails from all over the seed, the most requested one first. */
  readonly tails: readonly [string, ...string[]]
  readonly challenges: readonly [string, ...string[]]
}

export function requestSamplesOf(seed: Seed): RequestSamples {
  const challenges = linesOf(seed.challenges) as [string, ...string[]]
  return { seed, tails: sampleTails(seed.tails), challenges }
}

export type PublicScenario = ReadScenario | VerifyScenario

/** The sample requests for a measurement. */
export function requestsFor(
  scenario: PublicScenario,
  requestSamples: RequestSamples,
): readonly [HttpRequest, ...HttpRequest[]] {
  if (scenario.kind === 'verify') return mapAll(requestSamples.challenges, verifyRequest)
  const { before, after, headers, over } = scenario
  const tails = over === 'one' ? ([requestSamples.tails[0]] as const) : requestSamples.tails
  return mapAll(tails, (tail) => ({ method: 'GET', path: `${before}${tail}${after}`, headers }))
}

export function verifyRequest(body: string): HttpRequest {
  return { method: 'POST', path: VERIFY_PATH, headers: JSON_TYPE, body }
}

/** The same measurement as a task for a load generator, over the whole seed. */
export function loadOf(
  scenario: PublicScenario,
  { seed }: RequestSamples,
  where: Pick<Load, 'port' | 'connections' | 'seconds'>,
): Load {
  if (scenario.kind === 'verify') {
    const file = seed.challenges
    return { ...where, method: 'POST', before: VERIFY_PATH, after: '', file, headers: JSON_TYPE }
  }
  const { before, after, headers, over } = scenario
  const file = over === 'one' ? seed.hotTail : seed.tails
  return { ...where, method: 'GET', before, after, file, headers }
}

function mapAll<T>(
  items: readonly [T, ...T[]],
  make: (item: T) => HttpRequest,
): [HttpRequest, ...HttpRequest[]] {
  return items.map(make) as [HttpRequest, ...HttpRequest[]]
}
