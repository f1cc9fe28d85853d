import { KEY_PATTERN, type Naming } from '@countersign/protocol'
import {
  count,
  fields,
  flag,
  list,
  matching,
  oneOf,
  orNull,
  type Read,
  text,
  time,
  url,
  withDid,
} from './fields.ts'
import type {
  AgentObject,
  Card,
  Claimed,
  CompactCard,
  DidDocument,
  GradeReport,
  Lookup,
  Verification,
} from './types.ts'

/** How each answer of the contract is read: by hand, so that no schema library comes along. */

const status = oneOf('active', 'suspended', 'revoked')
const grade = oneOf('A', 'B', 'C', 'D', 'E')
const tier = oneOf(1, 2)
const profile = fields<CompactCard['owner']>({ displayName: text, username: text })

/** Contract 4.1. */
export function readLookup(naming: Naming): Read<Lookup> {
  return fields<Lookup>({
    verified: flag,
    owner: fields({
      identityMethod: orNull(text),
      identityLevel: oneOf('verified', 'unverified'),
      claimedAt: time,
    }),
    certificate: fields({ id: matching(naming.didPattern), status, verifyUrl: text }),
  })
}

const cardFields = {
  displayName: text,
  username: orNull(text),
  description: text,
  avatarUrl: url,
  status,
  claimedAt: time,
  owner: orNull(profile),
  verification: orNull(
    fields<NonNullable<Card['verification']>>({ provider: text, label: text, verifiedAt: time }),
  ),
  channels: list(fields<Card['channels'][number]>({ kind: text, handleOrDomain: text })),
  grade,
  tier: orNull(tier),
  gradeIsFallback: flag,
  certificateUrl: url,
}

/** Contract 2.4. */
export function readCard(naming: Naming): Read<Card> {
  return named<Card>(naming, fields<Omit<Card, 'did'>>(cardFields))
}

/** Contract 4.7 without a special Accept. */
export function readAgentObject(naming: Naming): Read<AgentObject> {
  return named<AgentObject>(
    naming,
    fields<Omit<AgentObject, 'did'>>({
      ...cardFields,
      publicKey: matching(KEY_PATTERN),
      keyThumbprint: text,
      didWeb: matching(/^did:web:/),
      identityLevel: text,
      statusChangedAt: time,
      statusReason: orNull(text),
      updatedAt: time,
    }),
  )
}

/** Contract 2.5. */
export const readCompactCard: Read<CompactCard> = fields({
  displayName: text,
  owner: profile,
  verificationStatus: oneOf('verified', 'claim', 'unverified'),
  chatHandle: matching(/^@/),
  certificateUrl: url,
})

/** Contract 4.3. */
export function readVerification(naming: Naming): Read<Verification> {
  return fields<Verification>({
    verified: flag,
    signatureValid: flag,
    certified: flag,
    identityLevel: text,
    agent: named<Verification['agent']>(naming, fields({ displayName: text, status })),
  })
}

/** Contract 4.7 with `Accept: application/did+json`. */
export const readDidDocument: Read<DidDocument> = fields<DidDocument>({
  '@context': list(text),
  id: matching(/^did:web:/),
  controller: text,
  verificationMethod: list(
    fields<DidDocument['verificationMethod'][number]>({
      id: text,
      type: oneOf('Ed25519VerificationKey2020'),
      controller: text,
      publicKeyBase64: matching(KEY_PATTERN),
    }),
  ),
  authentication: list(text),
  service: list(
    fields<DidDocument['service'][number]>({ id: text, type: text, serviceEndpoint: text }),
  ),
})

/** `GET /api/agents/{did}/grade` */
export function readGradeReport(naming: Naming): Read<GradeReport> {
  return named<GradeReport>(
    naming,
    fields<Omit<GradeReport, 'did'>>({
      status,
      policyVersion: count,
      grade,
      tier: orNull(tier),
      gradeIsFallback: flag,
      points: fields({ identity: oneOf(0, 1, 2), reach: oneOf(0, 1, 2) }),
      evidence: fields({ verification: orNull(verificationEvidence), channel: orNull(channel) }),
      next: orNull(fields<NonNullable<GradeReport['next']>>({ grade, step: text })),
    }),
  )
}

const verificationEvidence = fields<NonNullable<GradeReport['evidence']['verification']>>({
  provider: text,
  label: text,
  assurance: oneOf('low', 'substantial', 'high'),
  verifiedAt: time,
  expiresAt: orNull(time),
})

const channel = fields<NonNullable<GradeReport['evidence']['channel']>>({
  kind: text,
  handleOrDomain: text,
  tier,
  checkedAt: time,
  freshUntil: orNull(time),
})

/** Contract 4.4. */
export function readClaimed(naming: Naming): Read<Claimed> {
  return named<Claimed>(naming, (value, place) => {
    const { message } = fields({ success: oneOf(true), message: text })(value, place)
    return { message }
  })
}

function named<T extends { readonly did: string }>(
  naming: Naming,
  rest: Read<Omit<T, 'did'>>,
): Read<T> {
  return withDid<T>(naming.didField, matching(naming.didPattern), rest)
}
