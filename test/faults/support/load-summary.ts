import type { Inconsistencies } from './acknowledged-changes.ts'
import { countOf } from './acknowledged-changes.ts'
import type { OwnerLoad } from './owner-load.ts'

/** Summarizes the answers and the checks for a report. */
export function loadSummary(
  load: OwnerLoad,
  inconsistencies: Inconsistencies,
): Record<string, string | number> {
  const { claims, revocations, failures, longestAnswer } = load
  const fields: Record<string, string | number> = {}
  for (const [what, made, lost] of [
    ['claims', claims, inconsistencies.lostClaims],
    ['revocations', revocations, inconsistencies.lostRevocations],
  ] as const) {
    fields[`${what} acknowledged`] = countOf(made, 'done')
    fields[`${what} done before, as a later answer said`] = countOf(made, 'done before')
    fields[`${what} of which nothing is known`] = countOf(made, 'not known')
    fields[`${what} acknowledged and lost`] = lost.length
  }
  fields['answers that said nothing was changed, wrongly'] = inconsistencies.doneUntold.length
  fields['agents minted twice'] = inconsistencies.mintedTwice.length
  fields['the longest answer'] = `${(longestAnswer / 1000).toFixed(1)} s`
  for (const [answer, count] of failures) fields[`answered ${answer}`] = count
  return fields
}
