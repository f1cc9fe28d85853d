import { GRADE_POLICY_VERSION, recomputeGrade as recompute } from '@countersign/protocol'
import type { Grade, GradeReport, Tier } from './answers/types.ts'

/** A grade that was computed here. */
export interface RecomputedGrade {
  readonly grade: Grade
  readonly tier: Tier | null
  readonly gradeIsFallback: boolean
  readonly points: { readonly identity: number; readonly reach: number }
  /** Whether the service says the same letter. */
  readonly agrees: boolean
}

/**
 * Computes the letter anew from the evidence that came with it, so that nobody has to believe it: it is right where
 * the letters are the same and the evidence is what its reader knows.
 * @param now the moment that counts, in milliseconds since 1970: what has ended by then counts for nothing
 * @returns null where the service follows a policy that this release does not know
 */
export function recomputeGrade(report: GradeReport, now = Date.now()): RecomputedGrade | null {
  if (report.policyVersion !== GRADE_POLICY_VERSION) return null
  const { did, policyVersion, ...rest } = report
  const result = recompute({ svcDid: did, policyVersion, ...rest }, now)
  const { grade, tier, gradeIsFallback, points } = result
  return { grade, tier, gradeIsFallback, points, agrees: grade === report.grade }
}
