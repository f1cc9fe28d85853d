import {
  type AgentKeys,
  type AgentObject,
  type Assurance,
  type ChannelEvidence,
  type GradeResult,
  gradeOf,
  isFresh,
  type OwnerName,
  strongestVerification,
  type Tier,
} from '@countersign/protocol'
import { isDevelopmentProvider, providerLabel } from '../accounts/identity-of-owner.ts'
import { agentObjectOf } from '../agents/agent-object.ts'
import type { AgentView } from '../agents/agent-record.ts'
import { type PublicChannel, publicChannel } from '../agents/public-channel.ts'
import type { Site } from '../base/site.ts'
import { startOfDay, timestamp } from '../base/timestamp.ts'
import type { LoggedKey } from '../log/read-log.ts'

/** The data of the certificate page. Times are ISO 8601 in UTC. */
export interface Certificate {
  readonly agent: AgentObject
  /** The verification that counts for the grade: the strongest current one. */
  readonly verification: {
    readonly label: string
    readonly assurance: Assurance
    readonly verifiedAt: string
    readonly expiresAt: string | null
  } | null
  /** The owner's name if a provider has verified it and the owner publishes it. Null if the provider is one for development. */
  readonly verifiedName: OwnerName['verified']
  /** Fresh channels, the strongest first. */
  readonly channels: readonly CertifiedChannel[]
  /** The channel that counts for the grade. */
  readonly strongestChannel: CertifiedChannel | null
  readonly grade: GradeResult
  /** A recovery that will replace the key; null: none is pending. */
  readonly recovery: AgentKeys['recovery']
  /** Where the current key is in the transparency log; null: not under a checkpoint. */
  readonly log: LoggedKey | null
}

export interface CertifiedChannel extends PublicChannel {
  readonly tier: Tier
  readonly checkedAt: string
}

export function certificateOf(
  site: Site,
  view: AgentView,
  now: number,
  { recovery, log }: Pick<Certificate, 'recovery' | 'log'> = { recovery: null, log: null },
): Certificate {
  const { agent, owner } = view
  const { channels } = agent.profile
  const { verifications } = owner
  const strongest = strongestVerification(verifications, now)
  const grade = gradeOf({ status: agent.status, verifications, channels, now })
  const { channel } = grade.evidence
  const object = agentObjectOf(site, view, now)
  return {
    agent: object,
    verifiedName: verifiedNameOf(object),
    verification: strongest && {
      label: providerLabel(site, strongest.provider),
      assurance: strongest.assurance,
      verifiedAt: timestamp(startOfDay(strongest.verifiedAt)),
      expiresAt: strongest.expiresAt === null ? null : timestamp(strongest.expiresAt),
    },
    channels: channels
      .filter((each) => isFresh(each, now))
      .sort((a, b) => b.tier - a.tier)
      .map((each) => certifiedChannel(site, each)),
    strongestChannel: channel && certifiedChannel(site, channel),
    grade,
    recovery,
    log,
  }
}

function verifiedNameOf({ ownerName, developmentOnly }: AgentObject): OwnerName['verified'] {
  const verified = ownerName?.verified ?? null
  const isTest = developmentOnly === true || isDevelopmentProvider(verified?.provider ?? '')
  return isTest ? null : verified
}

function certifiedChannel(site: Site, channel: ChannelEvidence): CertifiedChannel {
  const { tier, checkedAt } = channel
  return { ...publicChannel(site, channel), tier, checkedAt: timestamp(checkedAt) }
}
