import {
  agentKeysSchema,
  agentObjectSchema,
  approvalStateSchema,
  cardSchema,
  certificateClaimsSchema,
  claimResponseSchema,
  compactCardSchema,
  delegationGroupEndedSchema,
  delegationGroupSchema,
  delegationsEndedSchema,
  didDocumentSchema,
  directoryProofSchema,
  endedEnrolmentSchema,
  enrolResponseSchema,
  feedChangeSchema,
  feedHeadClaimsSchema,
  gradeAnswerSchema,
  grantSchema,
  lookupSchema,
  namingFor,
  receivedReportSchema,
  recoverResponseSchema,
  renouncedSchema,
  reportStateSchema,
  requestedApprovalSchema,
  rotatedSchema,
  runtimeChallengeSchema,
  runtimeProofSchema,
  snapshotClaimsSchema,
  snapshotSchema,
  stapleClaimsSchema,
  verifyResponseSchema,
  vetoedSchema,
} from '@countersign/protocol'

/**
 * The wire schemas of the protocol under the default short name. The build (vite.config.ts) evaluates this module and
 * publishes plain JSON Schemas in its place, so that the package needs no schema library.
 */
const naming = namingFor()

export const LOOKUP = lookupSchema(naming)
export const CARD = cardSchema(naming)
export const COMPACT_CARD = compactCardSchema()
export const AGENT_OBJECT = agentObjectSchema(naming)
export const VERIFICATION = verifyResponseSchema(naming)
export const DID_DOCUMENT = didDocumentSchema()
export const GRADE_REPORT = gradeAnswerSchema(naming)
export const CLAIMED = claimResponseSchema(naming)
export const ENROLLED = enrolResponseSchema(naming)
export const ENROLMENT_ENDED = endedEnrolmentSchema(naming)
export const RENOUNCED = renouncedSchema(naming)
export const DELEGATIONS_ENDED = delegationsEndedSchema(naming)
export const DELEGATION_GROUP = delegationGroupSchema()
export const DELEGATION_GROUP_ENDED = delegationGroupEndedSchema()
export const DIRECTORY_PROOF = directoryProofSchema(naming)
export const GRANT = grantSchema()
export const REQUESTED_APPROVAL = requestedApprovalSchema()
export const APPROVAL_STATE = approvalStateSchema()
export const ROTATED = rotatedSchema(naming)
export const RECOVERING = recoverResponseSchema(naming)
export const VETOED = vetoedSchema(naming)
export const AGENT_KEYS = agentKeysSchema(naming)
export const RECEIVED_REPORT = receivedReportSchema()
export const REPORT_STATE = reportStateSchema()
export const RUNTIME_CHALLENGE = runtimeChallengeSchema(naming)
export const RUNTIME_PROOF = runtimeProofSchema(naming)
export const CERTIFICATE_CLAIMS = certificateClaimsSchema(naming)
export const STAPLE_CLAIMS = stapleClaimsSchema(naming)
export const FEED_CHANGE = feedChangeSchema()
export const FEED_HEAD_CLAIMS = feedHeadClaimsSchema()
export const SNAPSHOT = snapshotSchema()
export const SNAPSHOT_CLAIMS = snapshotClaimsSchema()
