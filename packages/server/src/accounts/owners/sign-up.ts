import type { SignUpRequest } from '@countersign/protocol'
import { reservedNames } from '../identity-of-owner.ts'
import { setUserHandle } from '../owner-table.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import { assertUsernameAvailable, insertNewOwner, validateOwnerNames } from './add-owner.ts'
import { beginFlow, consumeFlow } from './flow.ts'
import { FIRST_PASSKEY_NAME, storePasskey, verifyNewPasskey } from './passkeys.ts'
import { newRecoveryCodes } from './recovery-codes.ts'
import { type Browser, startSession } from './session.ts'
import { replaceRecoveryCodes } from './sign-in-method-table.ts'
import { relyingPartyFor, type SignedInOwner } from './sign-in-with-passkey.ts'
import { scheduleExpiry } from './unused-account.ts'
import { registrationOptions } from './webauthn.ts'

interface SignUpState extends SignUpRequest {
  readonly challenge: string
  readonly handle: string
}

/** A new account, whose owner is signed in. */
export interface NewAccount extends SignedInOwner {
  /** To show once. */
  readonly recoveryCodes: readonly string[]
}

/**
 * Begins a sign-up with a passkey. Names are checked before the passkey is created, and again when the account is.
 * @returns the options for `navigator.credentials.create`, and the token for the flow cookie
 * @throws CodedError VALIDATION_ERROR if a name is invalid or taken, or the service's address is an IP address
 */
export async function beginSignUp(
  deps: OwnerDeps,
  request: SignUpRequest,
): Promise<{ options: Record<string, unknown>; token: string }> {
  const relyingParty = relyingPartyFor(deps)
  validateOwnerNames(deps.site.naming, request, reservedNames(deps))
  await assertUsernameAvailable(
    { db: deps.db.read },
    deps.pepper,
    request.username,
    null,
    deps.now(),
  )
  const handle = deps.randomBytes(32)
  const challenge = deps.randomBytes(32)
  const options = await registrationOptions(relyingParty, { ...request, handle }, challenge, [])
  const state: SignUpState = {
    ...request,
    challenge: Buffer.from(challenge).toString('base64url'),
    handle: Buffer.from(handle).toString('base64url'),
  }
  const token = await beginFlow(deps, { kind: 'passkey-sign-up', ownerId: null, state })
  return { options, token }
}

/**
 * Completes a sign-up: creates the account, its passkey, recovery codes and first session in one transaction.
 * @param flow the token from the flow cookie, or null
 * @param made the authenticator's response, unverified, and a name for the passkey
 * @throws CodedError VALIDATION_ERROR if the flow or the passkey is not valid, or the username is taken
 */
export async function completeSignUp(
  deps: OwnerDeps,
  flow: string | null,
  made: { readonly response: unknown; readonly name?: string },
  browser: Browser,
): Promise<NewAccount> {
  const { state } = await consumeFlow<SignUpState>(deps, flow, { kinds: ['passkey-sign-up'] })
  const credential = await verifyNewPasskey(relyingPartyFor(deps), state.challenge, made.response)
  const { codes, hashes } = newRecoveryCodes(deps.randomBytes)
  return deps.db.write(async (tx) => {
    const at = deps.now()
    const owner = await insertNewOwner(tx, deps.pepper, state, at)
    await setUserHandle(tx, owner.id, state.handle)
    await storePasskey(tx, { id: owner.id, name: made.name ?? FIRST_PASSKEY_NAME, at }, credential)
    await replaceRecoveryCodes(tx, owner.id, hashes, at)
    await scheduleExpiry(tx, owner.id, at)
    const token = await startSession(deps, tx, {
      id: owner.id,
      method: 'passkey',
      browser,
      passkeyId: credential.id,
      isNewAccount: true,
    })
    return { owner, token, recoveryCodes: codes }
  })
}
