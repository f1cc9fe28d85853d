import type { AgentStatus, Grade } from '@countersign/sdk'

/** Why a decision was made: a code for programs, and a message for people. */
export interface Reason {
  readonly code: ReasonCode
  readonly message: string
}

/** The message for each code. Messages contain no secrets, and no data from the agent that was not validated. */
export const REASON_MESSAGES = {
  preflight: () => 'A browser asks whether it may ask (a CORS preflight).',
  'no-identification': (header: string) =>
    `The request has no ${header} header, so nobody says which agent this is.`,
  'identification-unreadable': (header: string) =>
    `The ${header} header is not one DID, nor the 24 characters of one.`,
  'identification-conflict': (header: string) =>
    `The ${header} header, the session and the signature must name the same agent.`,
  'agent-unknown': () => 'The service knows no such agent.',
  'deny-list': () => 'This agent is on the list of those that are refused.',
  'allow-list': () => 'This agent is on the list of those that are let in.',
  'status-refused': (status: AgentStatus) => `The certificate of this agent is ${status}.`,
  'grade-too-low': (grade: Grade, minimum: Grade) =>
    `The grade of this agent is ${grade}, and ${minimum} is needed.`,
  'grade-unknown': (minimum: Grade) =>
    `The grade of this agent is not known, and ${minimum} is needed.`,
  'key-too-young': (seconds: number, minimum: number) =>
    `The key of this agent is ${seconds} seconds old, and ${minimum} are needed.`,
  'owner-verified': (provider: string) =>
    `The certificate is active, and its owner was verified by ${provider}.`,
  'owner-unverified': () => 'The certificate is active, and its owner is not verified.',
  'provider-not-accepted': (provider: string) =>
    `The owner was verified by ${provider}, which is not accepted here.`,
  'header-only': (header: string) =>
    `The ${header} header is what the caller says of itself: it does not prove that the caller holds the agent's key.`,
  'session-proven': () =>
    "The caller has a session of this site, for which it proved the agent's key when it signed in.",
  'session-ended': () =>
    'The agent has changed its key since it signed in, so the session has ended. Sign in again.',
  'signature-proven': () => "The caller signed the request with the agent's key.",
  'signature-invalid': () => 'The signature of the request is not valid.',
  'signature-unverified': () => 'The signature of the request could not be verified.',
  'directory-signed': (url: string) =>
    `The caller signed the request with a key of ${url}, and is no agent of the service.`,
  'proof-required': () =>
    'The request only names an agent. It has to prove possession of the agent’s key, by a signature or a session.',
  'service-unreachable': () => 'The service that knows the agents cannot be asked at the moment.',
  'answer-stale': (seconds: number) =>
    `The service cannot be asked at the moment: this is what it said ${seconds} seconds ago.`,
  'over-limit': (seconds: number) => `Too many requests: try again in ${seconds} seconds.`,
  'gateway-failed': () => 'The gateway could not decide.',
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
