import {
  type ChannelEvidence,
  type GradeAnswer,
  gradeOf,
  type VerificationEvidence,
} from '@countersign/protocol'
import { providerLabel } from '../accounts/identity-of-owner.ts'
import { didOfAgent, type Site } from '../base/site.ts'
import { startOfDay, timestamp, timestampOrNull } from '../base/timestamp.ts'
import type { AgentView } from './agent-record.ts'

/** An agent's grade with its evidence, from which `recomputeGrade` computes the same grade. */
export function gradeAnswerOf(site: Site, { agent, owner }: AgentView, now: number): GradeAnswer {
  const { evidence, ...result } = gradeOf({
    status: agent.status,
    verifications: owner.verifications,
    channels: agent.profile.channels,
    now,
  })
  return {
    [site.naming.didField]: didOfAgent(site, agent.tail),
    status: agent.status,
    ...result,
    evidence: {
      verification: evidence.verification && verificationOf(site, evidence.verification),
      channel: evidence.channel && channelOf(evidence.channel),
    },
  }
}

function verificationOf(site: Site, evidence: VerificationEvidence) {
  return {
    provider: evidence.provider,
    label: providerLabel(site, evidence.provider),
    assurance: evidence.assurance,
    verifiedAt: timestamp(startOfDay(evidence.verifiedAt)),
    expiresAt: timestampOrNull(evidence.expiresAt),
  }
}

function channelOf({ kind, handleOrDomain, tier, checkedAt, freshUntil }: ChannelEvidence) {
  return {
    kind,
    handleOrDomain,
    tier,
    checkedAt: timestamp(checkedAt),
    freshUntil: timestampOrNull(freshUntil),
  }
}
