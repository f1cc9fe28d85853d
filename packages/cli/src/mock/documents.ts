import {
  type AgentKeys,
  type AgentObject,
  type Card,
  type CompactCard,
  type DidDocument,
  didOf,
  didWebOf,
  encodeBase64,
  type GradeAnswer,
  gradeOf,
  type Identify,
  isCurrent,
  jwkOf,
  type KeySet,
  type Lookup,
  type Naming,
  type VerificationEvidence,
} from '@countersign/protocol'
import { CLAIMED_AT, currentKey, type MockAgent } from './agents.ts'

/** The mock as its documents name it. */
export interface MockSite {
  /** Its address without a slash at the end. */
  readonly origin: string
  readonly naming: Naming
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const SINCE = new Date(CLAIMED_AT).toISOString()

export function didOfMock({ naming }: MockSite, { tail }: MockAgent): string {
  return didOf(naming, tail)
}

function currentVerification({ now }: MockSite, { owner }: MockAgent): VerificationEvidence | null {
  return owner?.verifications.find((each) => isCurrent(each, now())) ?? null
}

function gradeOfMock(site: MockSite, { status, channels, owner }: MockAgent) {
  const verifications = owner?.verifications ?? []
  return gradeOf({ status, channels, verifications, now: site.now() })
}

/** Contract 4.1. */
export function lookupOf(site: MockSite, agent: MockAgent): Lookup {
  const verification = currentVerification(site, agent)
  return {
    verified: agent.status === 'active',
    owner: {
      identityMethod: verification?.provider ?? null,
      identityLevel: verification === null ? 'unverified' : 'verified',
      claimedAt: SINCE,
    },
    certificate: {
      id: didOfMock(site, agent),
      status: agent.status,
      verifyUrl: `/agent/${didOfMock(site, agent)}`,
    },
  }
}

/** `GET /api/v1/identify` */
export function identifyOf(site: MockSite, agent: MockAgent): Identify {
  const lookup = lookupOf(site, agent)
  const identityLevel = identityLevelOf(site, agent)
  const use = identityLevel === 'unverified' ? 'limited' : 'full'
  return {
    [site.naming.didField]: lookup.certificate.id,
    ...lookup,
    identityLevel,
    suggestedUse: lookup.verified ? use : 'deny',
    proofOfPossession: false,
  }
}

/** The provider, or `unverified` (contract 4.3). */
export function identityLevelOf(site: MockSite, agent: MockAgent): string {
  return currentVerification(site, agent)?.provider ?? 'unverified'
}

/** Contract 2.4. */
export function cardOf(site: MockSite, agent: MockAgent): Card {
  const { name, status, channels } = agent
  const { origin, naming } = site
  const verification = currentVerification(site, agent)
  const { grade, tier, gradeIsFallback } = gradeOfMock(site, agent)
  return {
    [naming.didField]: didOfMock(site, agent),
    displayName: displayNameOf(agent),
    username: name,
    description: `An agent of countersign mock in the state ${name}.`,
    avatarUrl: `${origin}/api/agents/${didOfMock(site, agent)}/avatar.svg`,
    status,
    claimedAt: SINCE,
    owner: ownerOf(agent),
    verification: verification && verifiedBy(verification),
    channels: channels.map(({ kind, handleOrDomain }) => ({ kind, handleOrDomain })),
    grade,
    tier,
    gradeIsFallback,
    certificateUrl: `${origin}/agent/${didOfMock(site, agent)}`,
    ownerName: agent.owner && { selfDeclared: true, changedAt: null, verified: null },
    ...developmentMark(verification),
  }
}

/** Contract 2.5. */
export function compactCardOf(site: MockSite, agent: MockAgent): CompactCard {
  const { displayName, username, certificateUrl } = cardOf(site, agent)
  const verification = currentVerification(site, agent)
  const level = verification === null ? 'claim' : 'verified'
  return {
    displayName,
    owner: ownerOf(agent) ?? { displayName: 'Deleted owner', username: '' },
    verificationStatus: agent.status === 'active' ? level : 'unverified',
    chatHandle: `@${username}`,
    certificateUrl,
    ...developmentMark(verification),
  }
}

/** Contract 4.7. */
export function agentObjectOf(site: MockSite, agent: MockAgent): AgentObject {
  const { origin } = site
  const did = didOfMock(site, agent)
  const { publicKey, keyThumbprint } = currentKey(agent)
  return {
    ...cardOf(site, agent),
    publicKey: encodeBase64(publicKey),
    keyThumbprint,
    keySequence: agent.keys.length,
    keyChangedAt: SINCE,
    didWeb: didWebOfMock(site, agent),
    identityLevel: identityLevelOf(site, agent),
    statusChangedAt: SINCE,
    statusReason: agent.statusReason,
    updatedAt: SINCE,
    maxDelegationDepth: agent.maxDelegationDepth,
    links: {
      self: `${origin}/api/agents/${did}`,
      lookup: `${origin}/api/v1/agent/${did}`,
      card: `${origin}/api/agents/${did}/card`,
      compactCard: `${origin}/api/v1/agent/${did}/card`,
      didDocument: `${origin}/api/agents/${did}`,
      certificate: `${origin}/agent/${agent.name}`,
    },
  }
}

/** Contract 4.7 with `Accept: application/did+json`. */
export function didDocumentOf(site: MockSite, agent: MockAgent): DidDocument {
  const id = didWebOfMock(site, agent)
  const key = `${id}#key-1`
  const publicKeyBase64 = encodeBase64(currentKey(agent).publicKey)
  const type = 'Ed25519VerificationKey2020' as const
  const serviceEndpoint = `${site.origin}/api/agents/${didOfMock(site, agent)}`
  const { status } = agent
  const isRevoked = status === 'revoked'
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
    id,
    controller: id,
    verificationMethod: isRevoked ? [] : [{ id: key, type, controller: id, publicKeyBase64 }],
    authentication: status === 'active' ? [key] : [],
    service: isRevoked
      ? []
      : [{ id: `${id}#agent-service`, type: 'AgentService', serviceEndpoint }],
  }
}

/** `GET /api/agents/{did}/grade` */
export function gradeReportOf(site: MockSite, agent: MockAgent): GradeAnswer {
  const { evidence, ...grade } = gradeOfMock(site, agent)
  const { verification, channel } = evidence
  return {
    [site.naming.didField]: didOfMock(site, agent),
    status: agent.status,
    ...grade,
    evidence: {
      verification: verification && {
        ...verifiedBy(verification),
        assurance: verification.assurance,
        expiresAt: verification.expiresAt && new Date(verification.expiresAt).toISOString(),
      },
      channel: channel && { ...channel, checkedAt: SINCE, freshUntil: null },
    },
  } as GradeAnswer
}

/** `GET /api/v1/agent/{did}/keys` */
export function keysOf(site: MockSite, agent: MockAgent): Omit<AgentKeys, 'did'> {
  const last = agent.keys.length - 1
  return {
    [site.naming.didField]: didOfMock(site, agent),
    keySequence: agent.keys.length,
    keyChangedAt: SINCE,
    keys: agent.keys.map(({ keyThumbprint }, i) => ({
      sequence: i + 1,
      keyThumbprint,
      from: SINCE,
      until: i === last ? null : SINCE,
      state: i === last ? 'current' : 'retired',
      changedBy: i === 0 ? 'claim' : 'rotation',
    })),
    recovery: null,
    renouncing: null,
  }
}

/** `GET /agent/{tail}/jwks.json` */
export function keySetOf(agent: MockAgent): KeySet {
  const { publicKey, keyThumbprint } = currentKey(agent)
  const key = { ...jwkOf(publicKey), kid: keyThumbprint, use: 'sig' } as const
  return { keys: agent.status === 'active' ? [key] : [] }
}

export function displayNameOf({ name }: MockAgent): string {
  return `Mock ${name}`
}

function didWebOfMock(site: MockSite, { tail }: MockAgent): string {
  return didWebOf(new URL(site.origin).host, didOf(site.naming, tail))
}

function ownerOf({ owner }: MockAgent) {
  return owner && { displayName: owner.displayName, username: owner.username }
}

function verifiedBy({ provider }: VerificationEvidence) {
  return { provider, label: provider, verifiedAt: SINCE }
}

function developmentMark(verification: VerificationEvidence | null) {
  return verification?.provider === 'development' ? { developmentOnly: true } : {}
}
