import type { Did, Tail } from '@countersign/protocol'
import type { AgentView } from '../agents/agent-record.ts'
import type { Site } from '../base/site.ts'
import { type Certificate, certificateOf } from './certificate.ts'

const DAY_MS = 24 * 3_600_000

/** No agent has it. */
export const SAMPLE_TAIL = '1'.repeat(24) as Tail

/**
 * The certificate of an agent that does not exist, for /sample. It has no key, no DID and no address below /agent/, so that
 * nothing can resolve, prove or embed it.
 */
export function sampleCertificate(site: Site, now: number): Certificate {
  // Whole days, so that the page and its ETag change once a day.
  const today = now - (now % DAY_MS)
  const certificate = certificateOf(site, sampleView(today), now)
  const certificateUrl = `${site.baseUrl}/sample`
  const agent = {
    ...certificate.agent,
    [site.naming.didField]: `${site.naming.didPrefix}sample` as Did,
    avatarUrl: `${site.baseUrl}/icon.svg`,
    certificateUrl,
  }
  const label = 'National eID'
  const verifiedAt = agent.claimedAt
  const verified = { name: 'Sam Sample', provider: 'sample', label, verifiedAt }
  return {
    ...certificate,
    agent: {
      ...agent,
      verification: agent.verification && { ...agent.verification, label },
      ownerName: { selfDeclared: true, changedAt: null, verified },
    },
    verifiedName: verified,
    verification: certificate.verification && { ...certificate.verification, label },
  }
}

/** @param today the start of a day, in milliseconds since the Unix epoch */
export function sampleView(today: number): AgentView {
  const claimedAt = today - 30 * DAY_MS
  const verification = {
    provider: 'sample',
    assurance: 'high',
    verifiedAt: claimedAt,
    expiresAt: claimedAt + 730 * DAY_MS,
  } as const
  return {
    agent: {
      tail: SAMPLE_TAIL,
      publicKey: new Uint8Array(32),
      ownerId: 0,
      seq: 0,
      version: 0,
      status: 'active',
      claimedAt,
      profile: {
        keySequence: 1,
        keyChangedAt: claimedAt,
        statusReason: null,
        isKeyLost: false,
        directoryProof: null,
        statusChangedAt: claimedAt,
        statusTime: 'exact',
        updatedAt: claimedAt,
        username: 'sample',
        displayName: 'Sample agent',
        description: 'Compares prices, fills baskets, and pays up to 50 euros.',
        avatar: null,
        maxDelegationDepth: 0,
        channels: [
          {
            kind: 'domain',
            handleOrDomain: 'agent.example',
            tier: 2,
            checkedAt: today,
            freshUntil: today + 30 * DAY_MS,
          },
        ],
      },
    },
    owner: {
      id: 0,
      username: 'sample',
      displayName: 'Sample owner',
      deleted: false,
      isOrganisation: false,
      verifications: [verification],
      strongest: verification,
      nameChangedAt: null,
      publishedNames: new Map(),
    },
  }
}
