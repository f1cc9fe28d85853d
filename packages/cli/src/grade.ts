import {
  GRADE_POLICY_VERSION,
  type GradeAnswer,
  type GradeResult,
  recomputeGrade,
} from '@countersign/protocol'
import { didIn } from './deployment.ts'
import { fields } from './output.ts'

/**
 * Computes a grade anew from the evidence that came with it.
 * @param now the moment that counts, in milliseconds since 1970
 * @returns null where the service follows a policy that this release does not know
 */
export function judgeGrade(answer: GradeAnswer, now: number): GradeResult | null {
  return answer.policyVersion === GRADE_POLICY_VERSION ? recomputeGrade(answer, now) : null
}

/** Why a letter is what it is, line by line, without what others have written. */
export function layOutGrade(answer: GradeAnswer, judgement: GradeResult | null): string {
  const { grade, status, points } = answer
  return [
    `The grade of ${didIn(answer)} is ${grade} (A is best, E is least).`,
    ...(status === 'active' ? [] : [`The certificate is ${status}: the grade is E whatever else.`]),
    fields([
      ['Who stands behind it', `${points.identity} of 2 points: ${identityWords(answer)}`],
      ['Where it can be reached', `${points.reach} of 2 points: ${reachWords(answer)}`],
      ['Computed here', agreementWords(answer, judgement)],
      ['Next', judgement?.next?.step ?? 'nothing that raises it'],
    ]),
  ].join('\n')
}

function identityWords({ evidence: { verification } }: GradeAnswer): string {
  if (verification === null) return 'the owner has no identity verification that counts'
  const { label, assurance, verifiedAt, expiresAt } = verification
  const until = expiresAt === null ? '' : `, until ${expiresAt}`
  return `the owner's identity was verified by ${label}, with ${assurance} assurance, ${verifiedAt}${until}`
}

function reachWords({ evidence: { channel } }: GradeAnswer): string {
  if (channel === null) return 'no verified channel that counts'
  const { kind, tier, checkedAt, freshUntil } = channel
  const means = tier === 2 ? 'a domain or agent-to-agent channel' : 'a chat or runtime channel'
  const until = freshUntil === null ? '' : `, until ${freshUntil}`
  return `${means} (${kind}), checked ${checkedAt}${until}`
}

function agreementWords(
  { grade, policyVersion }: GradeAnswer,
  judgement: GradeResult | null,
): string {
  if (judgement === null) {
    return `not at all: the service follows policy ${policyVersion}, and this release knows ${GRADE_POLICY_VERSION}`
  }
  if (judgement.grade === grade) return `${judgement.grade}, the same`
  return `${judgement.grade}. The letter does not follow from the evidence: do not rely on it`
}
