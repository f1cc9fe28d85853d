import {
  type ChannelFact,
  type GradeAnswer,
  gradeOf,
  type VerificationFact,
} from '@countersign/protocol'
import { providerLabel } from '../accounts/identity-of-owner.ts'
import { didOfAgent, type Site } from '../base/site.ts'
import { timestamp, timestampOrNull } from '../base/timestamp.ts'
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

function verificationOf(site: Site, fact: VerificationFact) {
  return {
    provider: fact.provider,
    label: providerLabel(site, fact.provider),
    assurance: fact.assurance,
    verifiedAt: timestamp(fact.verifiedAt),
    expiresAt: timestampOrNull(fact.expiresAt),
  }
}

function channelOf({ kind, handleOrDomain, tier, checkedAt, freshUntil }: ChannelFact) {
  return {
    kind,
    handleOrDomain,
    tier,
    checkedAt: timestamp(checkedAt),
    freshUntil: timestampOrNull(freshUntil),
  }
}
