import type {
  CertificateClaims,
  FeedChange,
  FeedHeadClaims,
  Naming,
  Snapshot,
  SnapshotClaims,
  StapleClaims,
} from '@countersign/protocol'
import type { Static, TSchema } from 'typebox'
import { type Read, readerOf, type Shape, UnexpectedShape } from './read-schema.ts'
import * as schemas from './schemas.ts'
import type {
  AgentKeys,
  AgentObject,
  Card,
  Claimed,
  CompactCard,
  DidDocument,
  DirectoryProof,
  GradeReport,
  Grant,
  Lookup,
  Recovering,
  Renounced,
  Rotated,
  RuntimeChallenge,
  RuntimeProof,
  Verification,
  Vetoed,
} from './types.ts'

/**
 * A reader for each response of the contract. The wire schema decides what is accepted; the compiler checks that what
 * comes out is the type that this package documents.
 */
type ReaderFor<T> = (naming: Naming | null) => Read<T>

function wireReader<S extends TSchema>(schema: S, naming: Naming | null): Read<Shape<Static<S>>> {
  return readerOf(schema, naming)
}

/** Contract 4.1. */
export const readLookup: ReaderFor<Lookup> = (naming) => wireReader(schemas.LOOKUP, naming)

/** Contract 4.5. */
export const readCard: ReaderFor<Card> = (naming) => wireReader(schemas.CARD, naming)

/** Contract 4.6. */
export const readCompactCard: ReaderFor<CompactCard> = (naming) =>
  wireReader(schemas.COMPACT_CARD, naming)

/** Contract 4.7. */
export const readAgentObject: ReaderFor<AgentObject> = (naming) =>
  wireReader(schemas.AGENT_OBJECT, naming)

/** Contract 4.7 with `Accept: application/did+json`. */
export const readDidDocument: ReaderFor<DidDocument> = (naming) =>
  wireReader(schemas.DID_DOCUMENT, naming)

/** Contract 4.3. */
export const readVerification: ReaderFor<Verification> = (naming) =>
  wireReader(schemas.VERIFICATION, naming)

/** Contract 4.4. */
export const readClaimed: ReaderFor<Claimed> = (naming) => {
  const read = wireReader(schemas.CLAIMED, naming)
  return (body) => {
    const { did, message } = read(body)
    return { did, message }
  }
}

/** `GET /api/agents/{did}/grade` */
export const readGradeReport: ReaderFor<GradeReport> = (naming) =>
  wireReader(schemas.GRADE_REPORT, naming)

/** `POST /api/v1/agent/{did}/renounce` */
export const readRenounced: ReaderFor<Renounced> = (naming) => wireReader(schemas.RENOUNCED, naming)

/** `PUT /api/v1/agent/{did}/directory-proof` */
export const readDirectoryProof: ReaderFor<DirectoryProof> = (naming) =>
  wireReader(schemas.DIRECTORY_PROOF, naming)

/** `POST /api/v1/agent/{did}/grant` */
export const readGrant: ReaderFor<Grant> = (naming) => wireReader(schemas.GRANT, naming)

/** `POST /api/v1/agent/{did}/keys` */
export const readRotated: ReaderFor<Rotated> = (naming) => wireReader(schemas.ROTATED, naming)

/** `POST /api/v1/agent/{did}/recover` */
export const readRecovering: ReaderFor<Recovering> = (naming) =>
  wireReader(schemas.RECOVERING, naming)

/** `POST /api/v1/agent/{did}/recovery/veto` */
export const readVetoed: ReaderFor<Vetoed> = (naming) => wireReader(schemas.VETOED, naming)

/** `GET /api/v1/agent/{did}/keys` */
export const readAgentKeys: ReaderFor<AgentKeys> = (naming) =>
  wireReader(schemas.AGENT_KEYS, naming)

/** `POST /api/agents/{did}/runtime/challenge` */
export const readRuntimeChallenge: ReaderFor<RuntimeChallenge> = (naming) =>
  wireReader(schemas.RUNTIME_CHALLENGE, naming)

/** `POST /api/agents/{did}/runtime` */
export const readRuntimeProof: ReaderFor<RuntimeProof> = (naming) =>
  wireReader(schemas.RUNTIME_PROOF, naming)

/** The claims of a certificate. */
export const readCertificateClaims: ReaderFor<Shape<CertificateClaims>> = (naming) =>
  wireReader(schemas.CERTIFICATE_CLAIMS, naming)

/** The claims of a staple. */
export const readStapleClaims: ReaderFor<Shape<StapleClaims>> = (naming) =>
  wireReader(schemas.STAPLE_CLAIMS, naming)

/** A change in the feed of status changes. */
export const readFeedChangeLine: ReaderFor<Shape<FeedChange>> = (naming) =>
  wireReader(schemas.FEED_CHANGE, naming)

/** The claims of a head of the feed. */
export const readFeedHeadClaims: ReaderFor<Shape<FeedHeadClaims>> = (naming) =>
  wireReader(schemas.FEED_HEAD_CLAIMS, naming)

/** `GET /api/v1/snapshot` */
export const readSnapshotBody: ReaderFor<Shape<Snapshot>> = (naming) =>
  wireReader(schemas.SNAPSHOT, naming)

/** The claims of the manifest of a snapshot. */
export const readSnapshotClaims: ReaderFor<Shape<SnapshotClaims>> = (naming) =>
  wireReader(schemas.SNAPSHOT_CLAIMS, naming)

/** `GET /log/proof/{did}`, as text, which `verifyKeyProof` verifies. */
export const readLogProof: Read<{ readonly proof: string }> = (body) => {
  if (typeof body === 'string') return { proof: body }
  throw new UnexpectedShape('answers without a proof')
}

/** A token in compact form, as text. */
export const readToken: Read<{ readonly token: string }> = (body) => {
  if (typeof body === 'string' && body.split('.').length === 3) return { token: body }
  throw new UnexpectedShape('answers without a token')
}
