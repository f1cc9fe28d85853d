import type { Rules } from '@countersign/gateway/internal'
import type { Tail } from '@countersign/protocol'
import type { AgentView } from '../../agents/agent-record.ts'
import { SAMPLE_TAIL, sampleView } from '../sample.ts'

/** Agents that do not exist, as callers of a simulation. */
export const SAMPLES = ['verified', 'unverified', 'suspended'] as const
export type Sample = (typeof SAMPLES)[number]

/** No agent has them. */
export const SAMPLE_TAILS: Readonly<Record<Sample, Tail>> = {
  verified: SAMPLE_TAIL,
  unverified: `${SAMPLE_TAIL.slice(1)}2` as Tail,
  suspended: `${SAMPLE_TAIL.slice(1)}3` as Tail,
}

/** @param rules those that will decide: the owner is verified by the first provider that they accept */
export function sampleAgent(
  sample: Sample,
  tail: Tail,
  { identityMethods }: Pick<Rules, 'identityMethods'>,
  now: number,
): AgentView {
  const { agent, owner } = sampleView(now)
  const verifications = owner.verifications.map((each) => ({
    ...each,
    provider: identityMethods?.[0] ?? 'in-person',
  }))
  const isVerified = sample !== 'unverified'
  return {
    agent: { ...agent, tail, status: sample === 'suspended' ? 'suspended' : 'active' },
    owner: {
      ...owner,
      verifications: isVerified ? verifications : [],
      strongest: isVerified ? (verifications[0] ?? null) : null,
    },
  }
}
