import { GRADE_POLICY_VERSION, recomputeGrade as recompute } from '@countersign/protocol'
import type { Grade, GradeReport, Tier } from './responses/types.ts'

/** A grade computed from its evidence. */
export interface RecomputedGrade {
  readonly grade: Grade
  readonly tier: Tier | null
  readonly gradeIsFallback: boolean
  /** 0 to 2 each. */
  readonly points: { readonly identity: number; readonly reach: number }
  /** The next step to a better grade; null if there is none. */
  readonly next: { readonly grade: Grade; readonly step: string } | null
  /** Whether the service reports the same grade. */
  readonly agrees: boolean
}

/**
 * Computes a grade from the evidence in its report, so that you do not have to trust the letter.
 * @param now milliseconds since 1970: evidence that has expired by then does not count
 * @returns null if the service uses a version of the grading policy that this release does not know
 */
export function recomputeGrade(report: GradeReport, now = Date.now()): RecomputedGrade | null {
  if (report.policyVersion !== GRADE_POLICY_VERSION) return null
  const { did, policyVersion, ...rest } = report
  const result = recompute({ svcDid: did, policyVersion, ...rest }, now)
  const { grade, tier, gradeIsFallback, points, next } = result
  return { grade, tier, gradeIsFallback, points, next, agrees: grade === report.grade }
}
