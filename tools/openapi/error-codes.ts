import { ERROR_STATUS, type ErrorCode } from '@countersign/protocol'
import { rateLimitsOf } from '../../packages/server/src/http/limits/rate-limits.ts'
import { ifLimited } from '../../packages/server/src/pages/docs/deployment-names.ts'
import type { ApiDocument, Operation } from './openapi-types.ts'

/** Adds the error codes of each operation as `x-errors`, and the names of its rate limits as `x-limits`. */
export function withErrors(document: ApiDocument): ApiDocument {
  const paths = Object.entries(document.paths).map(([path, methods]) => {
    const described = Object.entries(methods).map(([method, operation]) => [
      method,
      withCodes(path, method.toUpperCase(), operation),
    ])
    return [path, Object.fromEntries(described)]
  })
  return { ...document, paths: Object.fromEntries(paths) }
}

function withCodes(path: string, method: string, operation: Operation): Operation {
  const { operationId } = operation
  const limits = rateLimitsOf({ operationId, url: path, method }).map(({ name }) => name)
  return { ...operation, 'x-errors': errorsOf(method, operation, limits), 'x-limits': limits }
}

/** Error codes that do not follow from the shape of an operation. */
const FURTHER: Readonly<Record<string, readonly ErrorCode[]>> = {
  claim: ['INVALID_SIGNATURE', 'NOT_FOUND', 'KEY_ALREADY_CLAIMED', 'TOKEN_EXPIRED'],
  enrol: [
    ...(['INVALID_SIGNATURE', 'FORBIDDEN', 'IDENTITY_REQUIRED', 'NOT_FOUND'] as const),
    ...(['KEY_ALREADY_CLAIMED', 'AGENT_NOT_ACTIVE', 'CONFLICT', 'TOKEN_EXPIRED'] as const),
    'RATE_LIMITED',
  ],
  endEnrolment: ['INVALID_SIGNATURE'],
  createEnrolmentRule: ['IDENTITY_REQUIRED', 'CONFLICT'],
  createReport: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED'],
  answerReport: ['CONFLICT'],
  verify: ['INVALID_SIGNATURE', 'NOT_FOUND'],
  identify: ['NOT_FOUND'],
  agentCertificate: ['AGENT_NOT_ACTIVE'],
  signAgentCard: ['AGENT_NOT_ACTIVE', 'CONFLICT'],
  challengeRuntime: ['FORBIDDEN'],
  answerRuntime: ['INVALID_SIGNATURE', 'TOKEN_EXPIRED', 'FORBIDDEN'],
  renounce: ['INVALID_SIGNATURE', 'FORBIDDEN', 'CONFLICT'],
  endDelegations: [
    'INVALID_SIGNATURE',
    'FORBIDDEN',
    'AGENT_NOT_ACTIVE',
    'CONFLICT',
    'RATE_LIMITED',
  ],
  createDelegationGroup: [
    ...(['UNAUTHENTICATED', 'INVALID_SIGNATURE', 'FORBIDDEN', 'AGENT_NOT_ACTIVE'] as const),
    ...(['CONFLICT', 'RATE_LIMITED'] as const),
  ],
  endDelegationGroup: [
    ...(['UNAUTHENTICATED', 'INVALID_SIGNATURE', 'FORBIDDEN', 'AGENT_NOT_ACTIVE'] as const),
    ...(['CONFLICT', 'RATE_LIMITED'] as const),
  ],
  startTransfer: ['IDENTITY_REQUIRED', 'NOT_FOUND', 'AGENT_NOT_ACTIVE', 'CONFLICT'],
  acceptTransfer: ['IDENTITY_REQUIRED', 'CONFLICT'],
  declineTransfer: ['CONFLICT'],
  cancelTransfer: ['CONFLICT'],
  endOwnDelegations: ['AGENT_NOT_ACTIVE', 'RATE_LIMITED'],
  allowDelegation: ['RECENT_SIGN_IN_REQUIRED', 'AGENT_NOT_ACTIVE', 'RATE_LIMITED'],
  proveDirectory: ['INVALID_SIGNATURE', 'CONFLICT'],
  createOrganisation: ['IDENTITY_REQUIRED', 'CONFLICT'],
  changeMember: ['CONFLICT'],
  removeMember: ['CONFLICT'],
  createInvitation: ['IDENTITY_REQUIRED', 'CONFLICT', 'RATE_LIMITED'],
  acceptInvitation: ['CONFLICT'],
  createScimToken: ['CONFLICT'],
  createScimUser: ['CONFLICT'],
  replaceScimUser: ['CONFLICT'],
  changeScimUser: ['CONFLICT'],
  removeScimUser: ['CONFLICT'],
  checkOrganisationDomain: ['CONFLICT'],
  connectSso: ['CONFLICT'],
  beginOrganisationSignIn: ['NOT_FOUND'],
  removePasskey: ['CONFLICT'],
  deleteAccount: ['CONFLICT'],
  createApiKey: ['CONFLICT'],
  createWebhook: ['CONFLICT'],
  createGrantIssuer: ['CONFLICT'],
  assignGrantIssuer: ['CONFLICT'],
  agentClient: ['AGENT_NOT_ACTIVE'],
  issueGrant: [
    ...(['UNAUTHENTICATED', 'INVALID_SIGNATURE', 'FORBIDDEN', 'AGENT_NOT_ACTIVE'] as const),
    ...(['CONFLICT', 'RATE_LIMITED'] as const),
  ],
  requestApproval: [
    ...(['UNAUTHENTICATED', 'INVALID_SIGNATURE', 'FORBIDDEN', 'AGENT_NOT_ACTIVE'] as const),
    ...(['CONFLICT', 'RATE_LIMITED'] as const),
  ],
  allowApprovals: ['RECENT_SIGN_IN_REQUIRED', 'AGENT_NOT_ACTIVE'],
  approvalOptions: ['CONFLICT', 'TOKEN_EXPIRED', 'AGENT_NOT_ACTIVE'],
  approveRequest: ['INVALID_SIGNATURE', 'CONFLICT', 'TOKEN_EXPIRED', 'AGENT_NOT_ACTIVE'],
  denyRequest: ['CONFLICT', 'TOKEN_EXPIRED', 'AGENT_NOT_ACTIVE'],
  createMandate: ['NOT_FOUND', 'INVALID_SIGNATURE', 'CONFLICT', 'AGENT_NOT_ACTIVE'],
  revokeAgent: ['RATE_LIMITED'],
  reportOwnKey: ['CONFLICT', 'RATE_LIMITED'],
  testWebhook: ['RATE_LIMITED'],
  rotateWebhookSecret: ['CONFLICT'],
  redeliverWebhook: ['CONFLICT', 'RATE_LIMITED'],
  rotateKey: ['INVALID_SIGNATURE', 'KEY_ALREADY_CLAIMED', 'AGENT_NOT_ACTIVE', 'CONFLICT'],
  recoverKey: [
    'INVALID_SIGNATURE',
    'KEY_ALREADY_CLAIMED',
    'AGENT_NOT_ACTIVE',
    'CONFLICT',
    'TOKEN_EXPIRED',
  ],
  vetoRecovery: ['INVALID_SIGNATURE', 'FORBIDDEN', 'CONFLICT'],
  reportKey: ['INVALID_SIGNATURE', 'CONFLICT'],
  contestKeys: ['KEY_ALREADY_CLAIMED', 'AGENT_NOT_ACTIVE', 'CONFLICT'],
  startRecovery: ['AGENT_NOT_ACTIVE', 'CONFLICT'],
  reactivateAgent: ['CONFLICT'],
  reissueRecoveryToken: ['RECENT_SIGN_IN_REQUIRED', 'AGENT_NOT_ACTIVE', 'CONFLICT'],
  cancelRecovery: ['CONFLICT'],
  issueToken: ['IDENTITY_REQUIRED', 'RECENT_SIGN_IN_REQUIRED'],
  issueTokens: ['IDENTITY_REQUIRED', 'RECENT_SIGN_IN_REQUIRED'],
  identityWebhook: ['INVALID_SIGNATURE'],
  beginProviderSignIn: ['NOT_FOUND'],
  linkSignInProvider: ['NOT_FOUND'],
  statusFeed: ['CURSOR_EXPIRED'],
  accountEvents: ['CURSOR_EXPIRED'],
}

/**
 * The error codes of an operation, sorted by status. Tests compare every response with this list. 405 is left out: it is
 * the answer to a method that has no operation.
 * @param limits names of its rate limits: if it answers 429 for no other reason, the code is there for deployments with one
 */
function errorsOf(method: string, operation: Operation, limits: readonly string[]): string[] {
  const { operationId, summary, parameters = [], tags = [] } = operation
  const owners = tags.includes('owner')
  const changes = method !== 'GET'
  const told: Readonly<Partial<Record<ErrorCode, boolean>>> = {
    VALIDATION_ERROR: true,
    NOT_FOUND: parameters.some((each) => each.in === 'path' || each.name === 'organisation'),
    // Every operation refuses an unknown API key, also those that need no session.
    UNAUTHENTICATED: owners || tags.includes('scim'),
    FORBIDDEN: owners,
    RECENT_SIGN_IN_REQUIRED: summary.includes('recent sign-in'),
    PRECONDITION_FAILED: true,
    PAYLOAD_TOO_LARGE: changes,
    UNSUPPORTED_MEDIA_TYPE: changes,
    RATE_LIMITED: limits.length > 0,
    INTERNAL_ERROR: true,
    NOT_IMPLEMENTED: true,
    UNAVAILABLE: true,
  }
  const further = FURTHER[operationId] ?? []
  const codes = Object.keys(ERROR_STATUS) as ErrorCode[]
  const given = codes.filter((code) => told[code] === true || further.includes(code))
  return given.map((code) =>
    code === 'RATE_LIMITED' && !further.includes(code) ? ifLimited(limits, code) : code,
  )
}
