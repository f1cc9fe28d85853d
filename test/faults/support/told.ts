import type { Broken } from './kept.ts'
import { countOf } from './kept.ts'
import type { OwnerLoad } from './owner-load.ts'

/** What callers were told, and what was found, for a report. */
export function told(load: OwnerLoad, broken: Broken): Record<string, string | number> {
  const { claims, revocations, failures, longestAnswer } = load
  const facts: Record<string, string | number> = {}
  for (const [what, made, lost] of [
    ['claims', claims, broken.lostClaims],
    ['revocations', revocations, broken.lostRevocations],
  ] as const) {
    facts[`${what} acknowledged`] = countOf(made, 'done')
    facts[`${what} done before, as a later answer said`] = countOf(made, 'done before')
    facts[`${what} of which nothing is known`] = countOf(made, 'not known')
    facts[`${what} acknowledged and lost`] = lost.length
  }
  facts['answers that said nothing was changed, wrongly'] = broken.doneUntold.length
  facts['agents minted twice'] = broken.mintedTwice.length
  facts['the longest answer'] = `${(longestAnswer / 1000).toFixed(1)} s`
  for (const [answer, count] of failures) facts[`answered ${answer}`] = count
  return facts
}
