import { CodedError } from '@countersign/protocol'
import type { Tx } from '../core/database/database.ts'
import { insertPasskey } from './passkey-table.ts'
import { type Credential, type RelyingParty, verifyCreation } from './webauthn.ts'

/** What a passkey is called until its owner says otherwise. */
export const FIRST_NAME = 'First passkey'

/**
 * Checks a passkey that a browser has made.
 * @throws CodedError VALIDATION_ERROR
 */
export async function requireNewPasskey(
  relyingParty: RelyingParty,
  challenge: string,
  response: unknown,
): Promise<Credential> {
  const credential = await verifyCreation(relyingParty, challenge, response)
  if (credential !== null) return credential
  throw new CodedError(
    'VALIDATION_ERROR',
    'This passkey was not made for this request, or without unlocking the device. Try again.',
  )
}

/**
 * Keeps a passkey.
 * @throws CodedError VALIDATION_ERROR where it is registered already
 */
export async function keepPasskey(
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
  if (!inserted) throw new CodedError('VALIDATION_ERROR', 'This passkey is registered already.')
}
