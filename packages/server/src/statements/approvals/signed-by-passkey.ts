import { type ApprovalOptions, CodedError, decodeBase64Url } from '@countersign/protocol'
import { ownerById } from '../../accounts/owner-table.ts'
import { establishedPasskeys, isRoleEstablished } from '../../accounts/owners/established-method.ts'
import type { Session } from '../../accounts/owners/session.ts'
import { passkeyById, recordPasskeyUse } from '../../accounts/owners/sign-in-method-table.ts'
import {
  credentialOf,
  matchesUserHandle,
  relyingPartyFor,
} from '../../accounts/owners/sign-in-with-passkey.ts'
import { verifyAuthentication } from '../../accounts/owners/webauthn.ts'
import type { OwnerDeps } from '../../accounts/providers/providers.ts'
import type { OwnerRow, PasskeyRow, Tx } from '../../database/database.ts'
import type { MandateRow } from '../../database/schema/approval-rows.ts'

export type PasskeyDeps = Pick<OwnerDeps, 'db' | 'site' | 'now' | 'serviceName'>

/** The columns of an assertion. */
type AssertionColumns = Pick<
  MandateRow,
  'passkey_key' | 'client_data' | 'authenticator_data' | 'signature'
>

/** An assertion that was verified. Its use is recorded in the transaction of what it is for (`recordUse`). */
export interface Signed {
  readonly passkey: PasskeyRow
  readonly use: { readonly counter: number; readonly backedUp: boolean }
  readonly assertion: AssertionColumns
}

const NO_PASSKEY = 'Add a passkey. It can approve after 72 hours.'

/** The passkeys with which a person can sign. @throws CodedError FORBIDDEN if they have none */
export async function passkeyOptions(
  { db, now }: PasskeyDeps,
  { personId }: Session,
): Promise<ApprovalOptions> {
  const passkeys = await establishedPasskeys(db.read, personId, now())
  if (passkeys.length === 0) throw new CodedError('FORBIDDEN', NO_PASSKEY)
  return {
    allowCredentials: passkeys.map(({ credential_id, transports }) => ({
      id: credential_id,
      type: 'public-key',
      transports: JSON.parse(transports) as string[],
    })),
  }
}

/**
 * Verifies that a passkey of the person, which is established, has signed a challenge.
 * @param response the authenticator's response, unverified
 * @returns null if it did not, or if its counter shows a copy
 * @throws CodedError INVALID_SIGNATURE if the person has no such passkey, FORBIDDEN if it is younger than 72 hours
 */
export async function verifySigned(
  deps: PasskeyDeps,
  { personId }: Session,
  challenge: Uint8Array,
  response: Record<string, unknown>,
): Promise<Signed | null> {
  const { db } = deps
  const passkey = await requirePasskey(deps, personId, response)
  const person = (await ownerById(db.read, personId)) as OwnerRow
  if (!matchesUserHandle(response, person)) return null
  const use = await verifyAuthentication(
    relyingPartyFor(deps),
    Buffer.from(challenge).toString('base64url'),
    response,
    credentialOf(passkey),
  )
  return use && { passkey, use, assertion: assertionOf(passkey, response) }
}

/**
 * Records the use of a passkey in the transaction of what it has signed.
 * @throws CodedError FORBIDDEN if the role is younger than 72 hours; INVALID_SIGNATURE if the passkey was removed, or used by
 *   another browser meanwhile
 */
export async function recordUse(
  tx: Tx,
  session: Session,
  { passkey, use }: Signed,
  at: number,
): Promise<void> {
  if (!(await isRoleEstablished(tx.db, session, at))) {
    throw new CodedError(
      'FORBIDDEN',
      'You have had your role in this organisation for less than 72 hours. Ask another member to approve, or deny the request.',
    )
  }
  const { credential_id: credentialId, counter: counterBefore } = passkey
  const isUsed = await recordPasskeyUse(tx, { credentialId, counterBefore, ...use, at })
  if (!isUsed) throw invalidAssertion()
}

/** @throws CodedError INVALID_SIGNATURE if the person has no such passkey, FORBIDDEN if it is not established */
async function requirePasskey(
  { db, now }: PasskeyDeps,
  personId: number,
  { id }: Record<string, unknown>,
): Promise<PasskeyRow> {
  const established = await establishedPasskeys(db.read, personId, now())
  const passkey = established.find((each) => each.credential_id === id)
  if (passkey !== undefined) return passkey
  if (established.length === 0) throw new CodedError('FORBIDDEN', NO_PASSKEY)
  const young = typeof id === 'string' ? await passkeyById(db.read, id) : undefined
  if (young?.owner_id !== personId) throw invalidAssertion()
  throw new CodedError(
    'FORBIDDEN',
    'This passkey was added less than 72 hours ago. Use an older one.',
  )
}

export function invalidAssertion(): CodedError {
  return new CodedError(
    'INVALID_SIGNATURE',
    'The passkey has not signed this. Load the page again, and approve what it shows.',
  )
}

function assertionOf(passkey: PasskeyRow, response: Record<string, unknown>): AssertionColumns {
  const { clientDataJSON, authenticatorData, signature } = response.response as Record<
    string,
    string
  >
  const bytes = (text: string | undefined) => {
    const decoded = decodeBase64Url(text ?? '')
    if (decoded === null) throw invalidAssertion()
    return decoded
  }
  return {
    passkey_key: passkey.public_key,
    client_data: bytes(clientDataJSON),
    authenticator_data: bytes(authenticatorData),
    signature: bytes(signature),
  }
}
