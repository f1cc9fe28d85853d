import { encodeBase64Url } from '@countersign/protocol'
import { CountersignError } from '../errors.ts'

/** The agent of a session, as it was when it signed in. */
export interface SessionClaims {
  readonly did: string
  /** The owner's identity provider, or `unverified`. */
  readonly identityLevel: string
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

/** 256 bits, since guesses can be tested offline. */
const MIN_SECRET_BYTES = 32
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' }
/** The only JWS header (RFC 7515) that is accepted, so that a token cannot choose its algorithm. */
const HEADER = encodeText('{"alg":"HS256","typ":"agent-session+jwt"}')
const MAX_LENGTH = 2048

/**
 * @param audience in every token, so that those of another site with the same secret are refused
 * @param secrets the first one signs, all are accepted, so that a secret can be rotated without ending sessions
 * @throws CountersignError INVALID_ARGUMENT if there is no secret or one is too short
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
      const [header, payload = '', mac = '', ...more] = token.slice(0, MAX_LENGTH + 1).split('.')
      if (token.length > MAX_LENGTH || header !== HEADER || more.length > 0) return null
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

/** Reads a payload whose MAC is valid; audience and expiry must still be checked. */
function claimsIn(payload: string, audience: string, now: number): SessionClaims | null {
  const bytes = decodeBase64Url(payload)
  if (bytes === null) return null
  const { aud, sub, iat, exp, identityLevel } = JSON.parse(new TextDecoder().decode(bytes))
  const ours = aud === audience && typeof sub === 'string' && typeof exp === 'number'
  if (!ours || exp * 1000 <= now) return null
  return { did: sub, identityLevel, issuedAt: iat * 1000, expiresAt: exp * 1000 }
}

/** Imports the key when it is first needed. */
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
  if (bytes.length < MIN_SECRET_BYTES) throw tooShort()
  return bytes
}

function tooShort(): CountersignError {
  return new CountersignError(
    'INVALID_ARGUMENT',
    `The secret of sessions has at least ${MIN_SECRET_BYTES} bytes. Make one: openssl rand -base64 32`,
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
