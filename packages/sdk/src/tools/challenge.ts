import {
  challengeMessage,
  decodeSignature,
  type ForeignTextFound,
  foreignTextIn,
  namingOfChallenge,
  parseChallenge,
  referenceKind,
  unsignableTextIn,
} from '@countersign/protocol'
import type { Registry } from '../registry.ts'
import type { Verification } from '../responses/types.ts'
import { Failure } from './failure.ts'

/**
 * The bytes to sign for a challenge. It refuses what could be signed bytes of another purpose, such as a claim or a token, and
 * control characters.
 * @throws Failure LOOKS_LIKE_A_CLAIM, NOT_A_CHALLENGE
 * @throws CodedError VALIDATION_ERROR if it is empty, over 8,192 bytes, not well-formed or contains U+0000
 */
export function challengeBytes(challenge: string): Uint8Array {
  if (challenge.includes('\0')) return challengeMessage(challenge)
  refuse(unsignableTextIn(challenge))
  return challengeMessage(challenge)
}

/** @throws Failure LOOKS_LIKE_A_CLAIM, NOT_A_CHALLENGE */
function refuse(foreign: ForeignTextFound | null): void {
  if (foreign === null) return
  if (foreign.kind !== 'claim') throw new Failure('NOT_A_CHALLENGE', foreign.message)
  throw new Failure(
    'LOOKS_LIKE_A_CLAIM',
    `${foreign.message} If the token is yours, use: countersign claim <token>`,
  )
}

/**
 * Parses the origin of a site (RFC 6454); a slash at its end is allowed.
 * @param what names the value in messages
 * @throws Failure USAGE, without repeating the text
 */
export function parseOrigin(text: string, what: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) {
    return url.origin
  }
  throw new Failure(
    'USAGE',
    `${what} is an address without path, query or credentials, such as https://shop.example.`,
  )
}

/**
 * The audience that a challenge of any deployment names.
 * @returns null if it names none; a malformed challenge of this form names none either
 */
export function audienceOf(challenge: string): string | null {
  const naming = namingOfChallenge(challenge)
  return (naming && parseChallenge(naming, challenge))?.audience ?? null
}

/** The challenge is for another site than the agent talks to. */
export function wrongAudience(named: string, audience: string): Failure {
  return new Failure(
    'WRONG_AUDIENCE',
    `Nothing was signed: the challenge is for ${named}, but you are connected to ${audience}. It may be relayed by an attacker.`,
  )
}

/** An agent's answer to a challenge. */
export interface Proof {
  readonly challenge: string
  /** 64 bytes in padded standard base64. */
  readonly signature: string
}

/** @throws Failure USAGE, LOOKS_LIKE_A_CLAIM, NOT_A_CHALLENGE; CodedError VALIDATION_ERROR, if it cannot be an answer to a challenge */
export function assertProof({ challenge, signature }: Proof): void {
  // The challenge is the caller's choice, so control characters are allowed here.
  refuse(foreignTextIn(challenge))
  challengeMessage(challenge)
  if (decodeSignature(signature) !== null) return
  throw new Failure('USAGE', 'A signature is 64 bytes in padded standard base64: 88 characters.')
}

/**
 * Has the service verify an answer with the key of the named agent (contract 4.3).
 * @param agent a DID, a tail or a public key
 */
export async function verifyProof(
  registry: Registry,
  agent: string,
  { challenge, signature }: Proof,
): Promise<Verification> {
  if (referenceKind(agent) === 'key') {
    return registry.verify({ publicKey: agent, challenge, signature })
  }
  const { publicKey, did } = await registry.agent(agent)
  return registry.verify({ publicKey, did, challenge, signature })
}

/**
 * The contract does not say what `verified` covers, so every other field of the response must agree with it.
 * @returns why the agent is not verified; null if it is
 */
export function reasonNotVerified({
  verified,
  signatureValid,
  certified,
  agent,
}: Verification): string | null {
  if (!signatureValid) return 'The signature does not match this key and challenge.'
  if (!certified) return 'The signature is valid, but the key has no certificate.'
  if (agent.status !== 'active') {
    return `The signature is valid, but the certificate is ${agent.status}.`
  }
  return verified
    ? null
    : 'The signature is valid, but the service does not report the agent as verified.'
}

/** @throws Failure USAGE if the text cannot name an agent */
export function assertReference(agent: string): void {
  if (referenceKind(agent) !== null) return
  throw new Failure(
    'USAGE',
    'Give an agent as a DID (a short name, :agent: and 24 base58 characters), the last 24 characters of a DID, or a public key (32 bytes in padded standard base64).',
  )
}
