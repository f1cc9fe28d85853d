import { timingSafeEqual } from 'node:crypto'
import { CodedError } from '@countersign/protocol'
import type { Tx } from '../../database/database.ts'
import { hashToken } from '../../secrets/hash-token.ts'
import { FLOW_LIFETIME_MS } from './flow.ts'
import type { OwnerDeps } from './owner-deps.ts'
import { flowByHash, markFlowUsed } from './session-table.ts'

const PURPOSE = 'passkey-sign-in'

/** A challenge for a sign-in with a passkey. */
export interface SignInChallenge {
  /** 32 random bytes, base64url. */
  readonly challenge: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** For the flow cookie: the challenge with its expiry, authenticated by the deployment's secret. */
  readonly token: string
}

/** Makes a challenge. Anybody may ask for one, so nothing is stored until it is used. */
export function newSignInChallenge({ randomBytes, now, pepper }: OwnerDeps): SignInChallenge {
  const challenge = Buffer.from(randomBytes(32)).toString('base64url')
  const expiresAt = now() + FLOW_LIFETIME_MS
  const text = `${expiresAt}.${challenge}`
  const tag = Buffer.from(pepper.authenticate(PURPOSE, text)).toString('base64url')
  return { challenge, expiresAt, token: `${text}.${tag}` }
}

/**
 * @param token from the flow cookie, or null
 * @throws CodedError VALIDATION_ERROR if it was not made here, has expired, or has been used
 */
export async function readSignInChallenge(
  { db, now, pepper }: OwnerDeps,
  token: string | null,
): Promise<SignInChallenge> {
  const [, text = '', expiry = '', challenge = '', tag = ''] =
    /^((\d{1,15})\.([\w-]{43}))\.([\w-]{43})$/.exec(token ?? '') ?? []
  const given = Buffer.from(tag, 'base64url')
  const expected = pepper.authenticate(PURPOSE, text)
  const isOurs = given.length === expected.length && timingSafeEqual(given, expected)
  if (!isOurs || Number(expiry) <= now()) throw begunElsewhere()
  const made = { challenge, expiresAt: Number(expiry), token: token as string }
  if ((await flowByHash(db.read, hashToken(made.token))) !== undefined) throw begunElsewhere()
  return made
}

/** Uses a challenge up. @throws CodedError VALIDATION_ERROR if it has been used */
export async function useSignInChallenge(
  tx: Tx,
  { token, expiresAt }: SignInChallenge,
): Promise<void> {
  if (!(await markFlowUsed(tx, hashToken(token), expiresAt))) throw begunElsewhere()
}

function begunElsewhere(): CodedError {
  return new CodedError(
    'VALIDATION_ERROR',
    'This took too long, or started in another browser. Start again.',
  )
}
