export type {
  Approval,
  ApprovalPolicy,
  Delegation,
  DelegationFault,
  DelegationHop,
  DelegationLimits,
  DelegationPolicy,
  HeaderList,
  KeyLookup,
  KeyLookupFault,
  KeyReference,
  NonceOutcome,
  NonceStore,
  ProvenKey,
  RawRequest,
  RequestApproval,
  SignatureAgent,
  SignatureAgentDialect,
  SignatureProfile,
  SignatureReason,
  SignatureResult,
  SignatureVerdict,
  SigningKey,
  UnverifiedResult,
  UsedNonce,
  VerifiedResult,
} from '@countersign/protocol/signed-request-types'
export { Agent } from './agent.ts'
export type { AgentAnswer, AgentOptions } from './agent-options.ts'
export type { AgentRequestInit, DelegateRequestInit } from './approvals/approving-fetch.ts'
export type { ApprovalOptions, PendingApproval } from './approvals/request-approval.ts'
export {
  type FeedContext,
  type FeedHead,
  type FeedLineRead,
  readFeedHead,
  readFeedLine,
  readSnapshot,
  type StatusSnapshot,
} from './certificates/feed.ts'
export { issuerOrigin } from './certificates/issuer-client.ts'
export { type IssuerKeys, readIssuerKeySet } from './certificates/key-set.ts'
export {
  readStatusList,
  type StatusList,
  type StatusListContext,
  statusIn,
  type TokenStatus,
} from './certificates/status-list.ts'
export type { FeedChange, FeedPosition, IssuerJwk } from './certificates/types.ts'
export {
  type ServiceApprovalOptions,
  type VerifiedApproval,
  type VerifyApprovalOptions,
  verifyApproval,
} from './certificates/verify-approval.ts'
export {
  type ServiceCertificateOptions,
  type TrustedIssuer,
  type VerifiedCertificate,
  type VerifiedStaple,
  type VerifyCertificateOptions,
  type VerifyStapleOptions,
  verifyCertificate,
  verifyStaple,
} from './certificates/verify-certificate.ts'
export {
  type VerifiedKeyProof,
  type VerifyKeyProofOptions,
  verifyKeyProof,
} from './certificates/verify-key-proof.ts'
export { DelegatedAgent, type DelegatedAgentOptions } from './delegation/delegated-agent.ts'
export type { DelegateRequest, SignedDelegation } from './delegation/sign-delegation.ts'
export { discoverNaming } from './discover-naming.ts'
export {
  type Enrolment,
  type EnrolOptions,
  enrol,
  type PlatformTokenSource,
} from './enrolment/enrol.ts'
export { type KeepEnrolledOptions, keepEnrolled } from './enrolment/keep-enrolled.ts'
export {
  CountersignError,
  type CountersignErrorCode,
  type CountersignErrorDetails,
  type LocalErrorCode,
  type ServiceErrorCode,
} from './errors.ts'
export { identifiedDid } from './identification.ts'
export { keyFromJwk, keyFromPem, keyFromText, newKey } from './keys/keys.ts'
export { isSignedChallenge, type SignedChallenge } from './keys/signed-challenge.ts'
export type { NewKey, PrivateJwk, Signer } from './keys/signer.ts'
export { isSignature, signatureVerifier, type VerifySignature } from './keys/verify-signature.ts'
export type {
  AnswerOrigin,
  CallOptions,
  Names,
  NamingOptions,
  RegistryOptions,
} from './options.ts'
export { type RecomputedGrade, recomputeGrade } from './recompute-grade.ts'
export { Registry } from './registry.ts'
export type {
  ClaimRequest,
  DirectoryProofRequest,
  EndDelegationsRequest,
  GrantRequest,
  KeyReport,
  RecoverRequest,
  RenounceRequest,
  RotateRequest,
  VerifyRequest,
  VetoRequest,
} from './registry-requests.ts'
export {
  type AgentSignIn,
  type AgentSignInOptions,
  agentSignIn,
  type SessionOptions,
} from './relying-party/agent-sign-in.ts'
export {
  assertContentDigest,
  type ContentDigestOptions,
  type ReceivedBody,
} from './relying-party/assert-content-digest.ts'
export { type ChallengeStore, memoryChallengeStore } from './relying-party/challenge-store.ts'
export {
  type Challenges,
  type ChallengesOptions,
  createChallenges,
} from './relying-party/challenges.ts'
export {
  type KeyDirectories,
  type KeyDirectoriesOptions,
  keyDirectories,
  type TrustedDirectory,
} from './relying-party/key-directories.ts'
export { memoryNonceStore } from './relying-party/memory-nonce-store.ts'
export { type RegistryKeysOptions, registryKeys } from './relying-party/registry-keys.ts'
export {
  type AgentReport,
  type Evidence,
  evidenceOf,
  type ReportStatus,
  reportAgent,
  reportStatus,
  type SentReport,
} from './relying-party/report-agent.ts'
export type { SessionClaims } from './relying-party/session-token.ts'
export { type VerifyRequestOptions, verifyRequest } from './relying-party/verify-request.ts'
export type {
  AgentKeys,
  AgentObject,
  AgentStatus,
  Assurance,
  Card,
  Claimed,
  CompactCard,
  DelegationGroup,
  DelegationGroupEnded,
  DelegationsEnded,
  DidDocument,
  DirectoryProof,
  EnrolmentEnded,
  Grade,
  GradeReport,
  Grant,
  Lookup,
  Recovering,
  Renounced,
  Resolution,
  Rotated,
  RuntimeChallenge,
  RuntimeProof,
  Tier,
  Verification,
  Vetoed,
} from './responses/types.ts'
export type { AgentSession } from './sign-in.ts'
export type { DelegationGroups } from './signed-calls.ts'
export type { AudienceOptions } from './signed-requests/audiences.ts'
