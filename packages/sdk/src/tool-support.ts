/** For this repository alone: what `countersign` and the tools say to people, and how they read what people say. */
export {
  certificateRows,
  certificateUrl,
  ownCertificate,
  ownerDetails,
  recoveryRows,
  STATUS_WORDS,
} from './tools/certificate-rows.ts'
export {
  assertProof,
  assertReference,
  audienceOf,
  challengeBytes,
  type Proof,
  parseOrigin,
  reasonNotVerified,
  verifyProof,
  wrongAudience,
} from './tools/challenge.ts'
export { formatDay, formatMinute } from './tools/dates.ts'
export {
  codeOf,
  describeError,
  Failure,
  type FailureCode,
  type ReportedError,
  unexpectedAnswer,
} from './tools/failure.ts'
export { escapeCharacter, type Field, fields, printable } from './tools/fields.ts'
export {
  fetchSigned,
  noResponse,
  parseSiteUrl,
  requestOf,
  type SiteRequest,
} from './tools/site-request.ts'
export { quote, visible, visibleWithin } from './tools/untrusted.ts'
