import { decodeBase64Url, encodeBase64Url, parseJsonBytes } from '@countersign/protocol'
import type { Macs } from './hmac.ts'

/** The agent of a session, as it was when it signed in. */
export interface SessionClaims {
  readonly did: string
  /** The owner's identity provider, or `unverified`. */
  readonly identityLevel: string
  /** The number of the key with which it signed in. The session ends with the key: an agent with a higher number must sign in again. */
  readonly keySequence: number
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
}

/** Issues and verifies the session tokens of one relying party. */
export interface SessionTokens {
  issue(claims: SessionClaims): Promise<string>
  /** @returns null if the token was not issued here or has expired. @param now milliseconds since 1970 */
  read(token: string, now: number): Promise<SessionClaims | null>
}

/** The only JWS header (RFC 7515) that is accepted, so that a token cannot choose its algorithm. */
const HEADER = encodeText('{"alg":"HS256","typ":"agent-session+jwt"}')
const MAX_LENGTH = 2048

/** @param audience in every token, so that those of another site with the same secret are refused */
export function sessionTokens(audience: string, macs: Macs): SessionTokens {
  return {
    async issue({ did, identityLevel, keySequence, issuedAt, expiresAt }) {
      const payload = {
        iss: audience,
        aud: audience,
        sub: did,
        iat: Math.floor(issuedAt / 1000),
        exp: Math.floor(expiresAt / 1000),
        identityLevel,
        keySequence,
      }
      const signed = `${HEADER}.${encodeText(JSON.stringify(payload))}`
      return `${signed}.${encodeBase64Url(await macs.sign(signed))}`
    },
    async read(token, now) {
      const [header, payload = '', mac = '', ...more] = token.slice(0, MAX_LENGTH + 1).split('.')
      if (token.length > MAX_LENGTH || header !== HEADER || more.length > 0) return null
      const bytes = decodeBase64Url(mac)
      if (bytes === null || !(await macs.verify(`${header}.${payload}`, bytes))) return null
      const claims = claimsIn(payload, audience)
      return claims === null || claims.expiresAt <= now ? null : claims
    },
  }
}

/** Reads a payload whose MAC is valid. Sites in other languages issue tokens too, so its form is checked. */
function claimsIn(payload: string, audience: string): SessionClaims | null {
  const value = jsonIn(payload)
  if (value === null) return null
  // Tokens of an earlier release lack it. They are of agents that had one key only.
  const { aud, sub, iat, exp, identityLevel, keySequence = 1 } = value
  if (aud !== audience || typeof sub !== 'string' || typeof identityLevel !== 'string') return null
  if (!isWhole(iat) || !isWhole(exp) || !isWhole(keySequence) || keySequence < 1) return null
  const [issuedAt, expiresAt] = [iat * 1000, exp * 1000]
  return { did: sub, identityLevel, keySequence, issuedAt, expiresAt }
}

function jsonIn(payload: string): Readonly<Record<string, unknown>> | null {
  const bytes = decodeBase64Url(payload)
  if (bytes === null) return null
  try {
    const value = parseJsonBytes(bytes)
    return typeof value === 'object' ? (value as Readonly<Record<string, unknown>> | null) : null
  } catch {
    return null
  }
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function encodeText(text: string): string {
  return encodeBase64Url(new TextEncoder().encode(text))
}
