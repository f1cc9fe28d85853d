import { encodeBase64Url } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'

/** Who an agent was when it signed in. */
export interface SessionClaims {
  readonly did: string
  /** The owner's identity provider, or `unverified`. */
  readonly identityLevel: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
}

/** Signs sessions of one relying party, and reads its own. */
export interface SessionTokens {
  issue(claims: SessionClaims): Promise<string>
  /** @returns null for whatever was not issued here, or has ended by `now` */
  read(token: string, now: number): Promise<SessionClaims | null>
}

/** At least 256 bits, since the token can be tried offline. */
const LEAST_SECRET_BYTES = 32
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' }
/** A JWS (RFC 7515) with this one header: there is nothing about it for a token to choose. */
const HEADER = encodeText('{"alg":"HS256","typ":"agent-session+jwt"}')
const MOST_LENGTH = 2048

/**
 * @param audience named in every token, so that one of another site with the same secret is none here
 * @param secrets the first signs, all are accepted: so that a secret can be changed without ending sessions
 * @throws CountersignError INVALID_ARGUMENT where a secret is too short
 */
export function sessionTokens(
  audience: string,
  secrets: readonly (string | Uint8Array)[],
): SessionTokens {
  const keys = secrets.map((secret) => hmacKey(bytesOfSecret(secret)))
  const [first] = keys
  if (first === undefined) throw tooShort()
  return {
    async issue({ did, identityLevel, issuedAt, expiresAt }) {
      const payload = {
        iss: audience,
        aud: audience,
        sub: did,
        iat: Math.floor(issuedAt / 1000),
        exp: Math.floor(expiresAt / 1000),
        identityLevel,
      }
      const signed = `${HEADER}.${encodeText(JSON.stringify(payload))}`
      const mac = await crypto.subtle.sign('HMAC', await first(), bytesOf(signed))
      return `${signed}.${encodeBase64Url(new Uint8Array(mac))}`
    },
    async read(token, now) {
      const [header, payload = '', mac = '', ...more] = token.slice(0, MOST_LENGTH + 1).split('.')
      if (token.length > MOST_LENGTH || header !== HEADER || more.length > 0) return null
      const bytes = decodeBase64Url(mac)
      if (bytes === null) return null
      const signed = bytesOf(`${header}.${payload}`)
      for (const key of keys) {
        const good = await crypto.subtle.verify('HMAC', await key(), bytes, signed)
        if (good) return claimsIn(payload, audience, now)
      }
      return null
    },
  }
}

/** Of a payload that we have signed, so that its form is ours; the audience and the time are not. */
function claimsIn(payload: string, audience: string, now: number): SessionClaims | null {
  const bytes = decodeBase64Url(payload)
  if (bytes === null) return null
  const { aud, sub, iat, exp, identityLevel } = JSON.parse(new TextDecoder().decode(bytes))
  const ours = aud === audience && typeof sub === 'string' && typeof exp === 'number'
  if (!ours || exp * 1000 <= now) return null
  return { did: sub, identityLevel, issuedAt: iat * 1000, expiresAt: exp * 1000 }
}

/** Imported once, when it is first needed. */
function hmacKey(secret: Uint8Array<ArrayBuffer>) {
  const load = () => crypto.subtle.importKey('raw', secret, ALGORITHM, false, ['sign', 'verify'])
  let key: ReturnType<typeof load> | undefined
  return () => {
    key ??= load()
    return key
  }
}

function bytesOfSecret(secret: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = typeof secret === 'string' ? bytesOf(secret) : new Uint8Array(secret)
  if (bytes.length < LEAST_SECRET_BYTES) throw tooShort()
  return bytes
}

function tooShort(): CountersignError {
  return new CountersignError(
    'INVALID_ARGUMENT',
    `The secret of sessions has at least ${LEAST_SECRET_BYTES} bytes. Make one: openssl rand -base64 32`,
  )
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function encodeText(text: string): string {
  return encodeBase64Url(bytesOf(text))
}

function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return null
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    return Uint8Array.from(binary, (each) => each.charCodeAt(0))
  } catch {
    return null
  }
}
