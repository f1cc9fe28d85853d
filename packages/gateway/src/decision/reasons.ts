import type { AgentStatus, Grade } from '@countersign/sdk'

/** Why a decision was made: a code for programs, and a message for people. */
export interface Reason {
  readonly code: ReasonCode
  readonly message: string
}

/** The message for each code. Messages contain no secrets, and no data from the agent that was not validated. */
export const REASON_MESSAGES = {
  preflight: () => 'The request is a CORS preflight.',
  'no-identification': (header: string) =>
    `The request has no ${header} header, so it identifies no agent.`,
  'identification-unreadable': (header: string) =>
    `The ${header} header must be one DID, or its last 24 characters.`,
  'identification-conflict': (header: string) =>
    `The ${header} header, the session and the signature must name the same agent.`,
  'agent-unknown': () => 'The service has no such agent.',
  'deny-list': () => 'This agent is on the deny list.',
  'allow-list': () => 'This agent is on the allow list.',
  'status-refused': (status: AgentStatus) => `The certificate of this agent is ${status}.`,
  'grade-too-low': (grade: Grade, minimum: Grade) =>
    `The grade of this agent is ${grade}. This site requires ${minimum} or better.`,
  'grade-unknown': (minimum: Grade) =>
    `The grade of this agent is unknown. This site requires ${minimum} or better.`,
  'key-too-young': (seconds: number, minimum: number) =>
    `The key of this agent is ${seconds} seconds old. This site requires ${minimum}.`,
  'owner-too-new': (seconds: number, minimum: number) =>
    `This agent was transferred to its owner ${seconds} seconds ago. This site requires ${minimum}.`,
  'key-not-logged': () =>
    'It is not proven that the key of this agent is in the transparency log: the service has no proof, or one for another key.',
  'log-proof-invalid': () =>
    'The proof that the key of this agent is in the transparency log is not valid.',
  'log-not-accepted': () =>
    'The key of this agent is in a transparency log that this site does not accept.',
  'log-quorum-missing': () =>
    'The checkpoint of the transparency log lacks cosignatures that this site requires.',
  'log-unavailable': () =>
    'It is not known yet whether the key of this agent is in the transparency log. Try again later.',
  'owner-verified': (provider: string) =>
    `The certificate is active, and its owner was verified by ${provider}.`,
  'owner-unverified': () => 'The certificate is active, and its owner is not verified.',
  'provider-not-accepted': (provider: string) =>
    `The owner was verified by ${provider}, which this site does not accept.`,
  'header-only': (header: string) =>
    `The caller only sent the ${header} header, which does not prove possession of the agent's key.`,
  'session-proven': () =>
    "The caller has a session of this site, and proved possession of the agent's key when it signed in.",
  'session-ended': () =>
    'The session has ended because the agent has changed its key. Sign in again.',
  'signature-proven': () => "The caller signed the request with the agent's key.",
  'signature-invalid': () => 'The signature of the request is not valid.',
  'signature-unverified': () => 'The signature of the request could not be verified.',
  'replay-unchecked': () =>
    'This site cannot tell yet whether the signature was used before. Try again later.',
  'no-nonce-store': () =>
    'This site has no store of used signatures, so it cannot admit signed requests that change state.',
  'certificate-invalid': () =>
    'The certificate in the request is not one of a trusted issuer for the key that signed the request.',
  'certificate-expired': () =>
    'The certificate in the request has expired. Get a new one from its issuer.',
  'certificate-replaced': () =>
    'The certificate in the request was replaced or revoked. Get a new one from its issuer.',
  'delegation-refused': () =>
    'This site does not accept this delegated key. Let the agent itself sign the request.',
  'delegation-limit': () => 'The request is outside the limits of the delegation.',
  'delegation-unproven': () =>
    'The request has a chain of delegations, which counts only with a verified signature.',
  'directory-signed': (url: string) =>
    `The caller signed the request with a key of ${url}. It is not an agent of the service.`,
  'proof-required': (bySignature: boolean) =>
    bySignature
      ? 'This request needs a signature by the agent’s key: neither a header nor a session is enough. Sign the request.'
      : 'The request names an agent without proof. Sign the request with the agent’s key, or send a session of this site.',
  'approval-required': (header: string) =>
    `The owner of the agent has to approve this request, in a way that this site accepts. Ask for an approval, and send its token in ${header}.`,
  'approval-invalid': () => 'The approval in the request is no valid token of the agent’s service.',
  'approval-mismatch': () =>
    'The approval is for another request or agent, or this site could not compare the body. Send exactly the request that was approved.',
  'approval-expired': () =>
    'The approval has expired, or is older than this site accepts. Ask for another one.',
  'approval-used': (id: string) =>
    `The approval ${id} was used before. Ask this site for the result of that request before you ask for another approval.`,
  'approval-unchecked': () =>
    'This site cannot tell whether the approval was used before, and never will. Ask for another one.',
  'service-unreachable': () =>
    'The identity service is not reachable at the moment. Try again later.',
  'answer-stale': (seconds: number) =>
    `The identity service is not reachable at the moment. The decision uses its response from ${seconds} seconds ago.`,
  'over-limit': (seconds: number) => `Too many requests. Try again in ${seconds} seconds.`,
  'gateway-failed': () => 'The gateway failed to decide. Try again later.',
} as const

export type ReasonCode = keyof typeof REASON_MESSAGES

/** @param args the arguments of this code's message */
export function reason<C extends ReasonCode>(
  code: C,
  ...args: Parameters<(typeof REASON_MESSAGES)[C]>
): Reason {
  const message = REASON_MESSAGES[code] as (...args: unknown[]) => string
  return { code, message: message(...args) }
}
