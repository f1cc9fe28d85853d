import { type Account, CodedError } from '@countersign/protocol'
import type { OwnerRow, PasskeyRow, Tx } from '../../database/database.ts'
import { ownerById, setUserHandle } from '../owner-table.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import { describePasskey } from './account.ts'
import { beginFlow, consumeFlow } from './flow.ts'
import { assertAdminLeftEverywhere } from './keep-admin.ts'
import { notifyOfSignInMethod } from './notify-of-sign-in-method.ts'
import { assertStillSignedIn, type Session } from './session.ts'
import { deleteSessionsOfPasskey } from './session-table.ts'
import {
  deletePasskey,
  insertPasskey,
  passkeyById,
  passkeysOfOwner,
  updatePasskeyName,
} from './sign-in-method-table.ts'
import { assertSignInMethodLeft } from './sign-in-methods.ts'
import { relyingPartyFor } from './sign-in-with-passkey.ts'
import {
  type Credential,
  type RelyingParty,
  registrationOptions,
  verifyRegistration,
} from './webauthn.ts'

interface AddPasskeyState {
  readonly challenge: string
}

const DEFAULT_NAME = 'Passkey'

/**
 * Begins to add a passkey to an account.
 * @returns the options for `navigator.credentials.create`, and the token for the flow cookie
 * @throws CodedError VALIDATION_ERROR if the service's address is an IP address
 */
export async function beginAddingPasskey(
  deps: OwnerDeps,
  ownerId: number,
): Promise<{ options: Record<string, unknown>; token: string }> {
  const relyingParty = relyingPartyFor(deps)
  const { username, display_name: displayName, user_handle } = await withUserHandle(deps, ownerId)
  const existing = await passkeysOfOwner(deps.db.read, ownerId)
  const challenge = deps.randomBytes(32)
  const options = await registrationOptions(
    relyingParty,
    { handle: Buffer.from(user_handle as string, 'base64url'), username, displayName },
    challenge,
    existing.map((each) => ({
      id: each.credential_id,
      transports: JSON.parse(each.transports) as string[],
    })),
  )
  const state: AddPasskeyState = { challenge: Buffer.from(challenge).toString('base64url') }
  const token = await beginFlow(deps, { kind: 'passkey-add', ownerId, state })
  return { options, token }
}

/**
 * Completes adding a passkey to an account.
 * @param flow the token from the flow cookie, or null
 * @param made the authenticator's response, unverified, and a name for the passkey
 * @throws CodedError VALIDATION_ERROR if the passkey is not valid, UNAUTHENTICATED if the session has ended
 */
export async function addPasskey(
  deps: OwnerDeps,
  session: Session,
  flow: string | null,
  made: { readonly response: unknown; readonly name?: string },
): Promise<Account['passkeys'][number]> {
  const { ownerId } = session
  const expected = { kinds: ['passkey-add'] as const, ownerId }
  const { state } = await consumeFlow<AddPasskeyState>(deps, flow, expected)
  const credential = await verifyNewPasskey(relyingPartyFor(deps), state.challenge, made.response)
  const row = await deps.db.write(async (tx) => {
    const at = deps.now()
    await assertStillSignedIn(tx, session)
    const name = made.name ?? DEFAULT_NAME
    await storePasskey(tx, { id: ownerId, name, at }, credential)
    const added = { method: 'passkey', id: credential.id, name } as const
    await notifyOfSignInMethod(tx, ownerId, 'added', added, at)
    return (await passkeyById(tx.db, credential.id)) as PasskeyRow
  })
  return describePasskey(row)
}

/** @throws CodedError NOT_FOUND if the owner has no such passkey */
export async function renamePasskey(
  { db }: Pick<OwnerDeps, 'db'>,
  ownerId: number,
  credentialId: string,
  name: string,
): Promise<Account['passkeys'][number]> {
  const row = await db.write((tx) => updatePasskeyName(tx, ownerId, credentialId, name))
  return describePasskey(row ?? notFound())
}

/**
 * Removes a passkey and ends the sessions that it started, including the current one, so that a thief of the passkey
 * is signed out too.
 * @throws CodedError NOT_FOUND, VALIDATION_ERROR if it is the last sign-in method, or CONFLICT if the owner is the last
 *   emergency admin of an organisation with an identity provider
 */
export async function removePasskey(
  { db, now }: Pick<OwnerDeps, 'db' | 'now'>,
  ownerId: number,
  credentialId: string,
): Promise<void> {
  await db.write(async (tx) => {
    const passkey = await passkeyById(tx.db, credentialId)
    if (!(await deletePasskey(tx, ownerId, credentialId)) || passkey === undefined) notFound()
    await assertSignInMethodLeft(tx, ownerId)
    await assertAdminLeftEverywhere(tx, ownerId)
    await deleteSessionsOfPasskey(tx, ownerId, credentialId)
    const removed = { method: 'passkey', id: credentialId, name: passkey.name } as const
    await notifyOfSignInMethod(tx, ownerId, 'removed', removed, now())
  })
}

/** Owners added by the operator have no user handle before their first passkey. */
async function withUserHandle(deps: OwnerDeps, ownerId: number): Promise<OwnerRow> {
  const handle = Buffer.from(deps.randomBytes(32)).toString('base64url')
  return deps.db.write(async (tx) => {
    await setUserHandle(tx, ownerId, handle)
    return (await ownerById(tx.db, ownerId)) as OwnerRow
  })
}

function notFound(): never {
  throw new CodedError('NOT_FOUND', 'You have no such passkey.')
}

/** The name of the passkey of a new account, unless the owner chooses another. */
export const FIRST_PASSKEY_NAME = 'First passkey'

/**
 * Verifies the registration of a passkey.
 * @param challenge base64url, as in the options
 * @param response the authenticator's response, unverified
 * @throws CodedError VALIDATION_ERROR if it is not valid for this challenge
 */
export async function verifyNewPasskey(
  relyingParty: RelyingParty,
  challenge: string,
  response: unknown,
): Promise<Credential> {
  const credential = await verifyRegistration(relyingParty, challenge, response)
  if (credential !== null) return credential
  throw new CodedError(
    'VALIDATION_ERROR',
    'This passkey was not made for this request, or without unlocking the device. Try again.',
  )
}

/**
 * Stores a passkey within the caller's transaction.
 * @param owner the owner's id, the passkey's name, and the time in milliseconds since the Unix epoch
 * @throws CodedError VALIDATION_ERROR if it is already registered
 */
export async function storePasskey(
  tx: Tx,
  owner: { readonly id: number; readonly name: string; readonly at: number },
  credential: Credential,
): Promise<void> {
  const inserted = await insertPasskey(tx, {
    credential_id: credential.id,
    owner_id: owner.id,
    public_key: credential.publicKey,
    counter: credential.counter,
    transports: JSON.stringify(credential.transports),
    backed_up: credential.backedUp ? 1 : 0,
    name: owner.name,
    created_at: owner.at,
    last_used_at: null,
  })
  if (!inserted) throw new CodedError('VALIDATION_ERROR', 'This passkey is already registered.')
}
