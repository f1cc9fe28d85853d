import { type Static, Type } from 'typebox'
import { type GradeInput, type GradeResult, gradeOf } from '../grade.ts'
import type { Naming } from '../naming.ts'
import { ASSURANCES } from '../status.ts'
import { did, status, tier, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

const grade = () => Type.Enum(['A', 'B', 'C', 'D', 'E'], { type: 'string' })
const points = (description: string) => Type.Integer({ minimum: 0, maximum: 2, description })

/** `GET /api/agents/{did}/grade`: a grade with its evidence. */
export const gradeAnswerSchema = (naming: Naming) =>
  Type.Object(
    {
      [naming.didField]: did(naming),
      status: status(),
      policyVersion: Type.Integer({
        description: 'increases if the same evidence could result in another grade',
      }),
      grade: grade(),
      tier: nullable(tier()),
      gradeIsFallback: Type.Boolean({ description: 'the strongest channel is of tier 1' }),
      points: Type.Object({
        identity: points('the identity of the owner'),
        reach: points('verified channels'),
      }),
      evidence: Type.Object({
        verification: nullable(
          Type.Object({
            provider: Type.String(),
            label: Type.String(),
            assurance: Type.Enum([...ASSURANCES], { type: 'string' }),
            verifiedAt: timestamp(),
            expiresAt: nullable(timestamp()),
          }),
        ),
        channel: nullable(
          Type.Object({
            kind: Type.String(),
            handleOrDomain: Type.String(),
            tier: tier(),
            checkedAt: timestamp(),
            freshUntil: nullable(timestamp()),
          }),
        ),
      }),
      next: nullable(
        Type.Object(
          { grade: grade(), step: Type.String() },
          { description: 'the next step to a better grade' },
        ),
      ),
    },
    { description: 'The grade of an agent, with its evidence' },
  )

export type GradeAnswer = Static<ReturnType<typeof gradeAnswerSchema>>

/**
 * Computes a grade from the evidence in the response, so that nobody has to trust the letter.
 * @param now milliseconds since 1970: evidence that has expired by then does not count
 */
export function recomputeGrade(answer: GradeAnswer, now: number): GradeResult {
  const { verification, channel } = answer.evidence
  const input: GradeInput = {
    status: answer.status,
    verifications: verification === null ? [] : [verificationOf(verification)],
    channels:
      channel === null
        ? []
        : [
            {
              kind: channel.kind,
              handleOrDomain: channel.handleOrDomain,
              tier: channel.tier,
              checkedAt: Date.parse(channel.checkedAt),
              freshUntil: channel.freshUntil === null ? null : Date.parse(channel.freshUntil),
            },
          ],
    now,
  }
  return gradeOf(input)
}

function verificationOf({
  provider,
  assurance,
  verifiedAt,
  expiresAt,
}: NonNullable<GradeAnswer['evidence']['verification']>) {
  return {
    provider,
    assurance,
    verifiedAt: Date.parse(verifiedAt),
    expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
  }
}
