import type { SignUpRequest } from '@countersign/protocol'
import { setUserHandle } from '../agents/owner-table.ts'
import { assertUsernameAvailable, insertNewOwner, validateOwnerNames } from './add-owner.ts'
import { beginFlow, consumeFlow } from './flow.ts'
import type { OwnerDeps } from './owner-deps.ts'
import { FIRST_NAME, storePasskey, verifyNewPasskey } from './passkeys.ts'
import { newRecoveryCodes } from './recovery-codes.ts'
import { type Browser, startSession } from './session.ts'
import { replaceRecoveryCodes } from './sign-in-method-table.ts'
import { relyingPartyFor, type SignedInOwner } from './sign-in-with-passkey.ts'
import { registrationOptions } from './webauthn.ts'

interface SignUpState extends SignUpRequest {
  readonly challenge: string
  readonly handle: string
}

/** A new account: whoever signs up is signed in, and has codes for the day the passkey is lost. */
export interface NewAccount extends SignedInOwner {
  readonly recoveryCodes: readonly string[]
}

/**
 * Begins a sign-up by passkey.
 * @returns options for the browser, and what it keeps until it comes back
 * @throws CodedError VALIDATION_ERROR where a name cannot be taken: said before a passkey is made, decided after
 */
export async function beginSignUp(
  deps: OwnerDeps,
  request: SignUpRequest,
): Promise<{ options: Record<string, unknown>; token: string }> {
  const relyingParty = relyingPartyFor(deps)
  validateOwnerNames(deps.site.naming, request)
  await assertUsernameAvailable({ db: deps.db.read }, request.username, null)
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
 * Makes the account, its passkey, its recovery codes and its first session, all of them or none.
 * @param flow what the browser kept
 * @param made what the authenticator answered, unchecked, and what the passkey is to be called
 * @throws CodedError VALIDATION_ERROR
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
    const owner = await insertNewOwner(tx, state, at)
    await setUserHandle(tx, owner.id, state.handle)
    await storePasskey(tx, { id: owner.id, name: made.name ?? FIRST_NAME, at }, credential)
    await replaceRecoveryCodes(tx, owner.id, hashes, at)
    const token = await startSession(deps, tx, { id: owner.id, method: 'passkey', browser })
    return { owner, token, recoveryCodes: codes }
  })
}
