import { timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import { CodedError } from '@countersign/protocol'
import { hashToken } from '../../base/hash-token.ts'
import type { Site } from '../../base/site.ts'
import type { OwnerRow, PasskeyRow, Tx } from '../../database/database.ts'
import { ownerById } from '../owner-table.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import { FLOW_LIFETIME_MS } from './flow.ts'
import { type Browser, startSession } from './session.ts'
import { deleteExpiredFlows, flowByHash, markFlowUsed } from './session-table.ts'
import { passkeyById, recordPasskeyUse } from './sign-in-method-table.ts'
import {
  authenticationOptions,
  type Credential,
  type RelyingParty,
  verifyAuthentication,
} from './webauthn.ts'

/**
 * Begins a sign-in with a passkey.
 * @returns the options for `navigator.credentials.get`, and the token for the flow cookie
 * @throws CodedError VALIDATION_ERROR if the service's address is an IP address
 */
export async function beginPasskeySignIn(
  deps: OwnerDeps,
): Promise<{ options: Record<string, unknown>; token: string }> {
  const { challenge, token } = newSignInChallenge(deps)
  const bytes = Buffer.from(challenge, 'base64url')
  const options = await authenticationOptions(relyingPartyFor(deps), bytes)
  return { options, token }
}

/**
 * Completes a sign-in with a passkey.
 * @param flow the token from the flow cookie, or null
 * @param response the authenticator's response, unverified
 * @throws CodedError VALIDATION_ERROR if this browser has not begun it, UNAUTHENTICATED if the passkey is unknown or the
 *   response is not valid
 */
export async function completePasskeySignIn(
  deps: OwnerDeps,
  flow: string | null,
  response: Record<string, unknown>,
  browser: Browser,
): Promise<SignedInOwner> {
  const begun = await readSignInChallenge(deps, flow)
  const { id } = response
  const passkey = typeof id === 'string' ? await passkeyById(deps.db.read, id) : undefined
  const owner = passkey && (await ownerById(deps.db.read, passkey.owner_id))
  if (passkey === undefined || owner === undefined || !matchesUserHandle(response, owner))
    return unknownPasskey()
  const credential = credentialOf(passkey)
  const use = await verifyAuthentication(
    relyingPartyFor(deps),
    begun.challenge,
    response,
    credential,
  )
  if (use === null) return unknownPasskey()
  return deps.db.write(async (tx) => {
    const at = deps.now()
    await deleteExpiredFlows(tx, at)
    await useSignInChallenge(tx, begun)
    const recorded = await recordPasskeyUse(tx, {
      credentialId: passkey.credential_id,
      counterBefore: passkey.counter,
      ...use,
      at,
    })
    if (!recorded) return unknownPasskey()
    const token = await startSession(deps, tx, {
      id: owner.id,
      method: 'passkey',
      browser,
      passkeyId: passkey.credential_id,
    })
    return { owner, token }
  })
}

/** The response's user handle, if there is one, must be that of the passkey's owner (WebAuthn section 7.2, step 6). */
export function matchesUserHandle(response: Record<string, unknown>, owner: OwnerRow): boolean {
  const { userHandle } = (response.response ?? {}) as { userHandle?: unknown }
  return userHandle === undefined || userHandle === null || userHandle === owner.user_handle
}

export function credentialOf(row: PasskeyRow): Credential {
  return {
    id: row.credential_id,
    publicKey: row.public_key,
    counter: row.counter,
    transports: JSON.parse(row.transports) as string[],
    backedUp: row.backed_up === 1,
  }
}

function unknownPasskey(): never {
  throw new CodedError('UNAUTHENTICATED', 'No account has this passkey.')
}

/** Browsers bind passkeys to domain names, so a service at an IP address cannot offer them. */
export function allowsPasskeys({ baseUrl }: Pick<Site, 'baseUrl'>): boolean {
  return isIP(new URL(baseUrl).hostname.replace(/^\[|\]$/g, '')) === 0
}

/**
 * The service as a WebAuthn relying party.
 * @throws CodedError VALIDATION_ERROR if the service's address is an IP address
 */
export function relyingPartyFor({
  site,
  serviceName,
}: Pick<OwnerDeps, 'site' | 'serviceName'>): RelyingParty {
  if (!allowsPasskeys(site)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'Browsers do not allow passkeys at an IP address. Use the host name of this service.',
    )
  }
  return { id: new URL(site.baseUrl).hostname, origin: site.baseUrl, name: serviceName }
}

/** The result of every sign-in method. */
export interface SignedInOwner {
  readonly owner: Pick<OwnerRow, 'username' | 'display_name'>
  /** The value for the session cookie. */
  readonly token: string
}

const PURPOSE = 'passkey-sign-in'

/** A challenge for a sign-in with a passkey. */
interface SignInChallenge {
  /** 32 random bytes, base64url. */
  readonly challenge: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** For the flow cookie: the challenge with its expiry, authenticated by the deployment's secret. */
  readonly token: string
}

/** Makes a challenge. Anybody may ask for one, so nothing is stored until it is used. */
function newSignInChallenge({ randomBytes, now, pepper }: OwnerDeps): SignInChallenge {
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
async function readSignInChallenge(
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
async function useSignInChallenge(tx: Tx, { token, expiresAt }: SignInChallenge): Promise<void> {
  if (!(await markFlowUsed(tx, hashToken(token), expiresAt))) throw begunElsewhere()
}

function begunElsewhere(): CodedError {
  return new CodedError(
    'VALIDATION_ERROR',
    'This took too long, or started in another browser. Start again.',
  )
}
