import {
  type Account,
  type AccountPatch,
  assertHonestName,
  requireUsername,
  usernameSkeleton,
} from '@countersign/protocol'
import { timestamp } from '../../base/timestamp.ts'
import type { Db, OwnerRow, PasskeyRow, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import type { Pepper } from '../../secrets/secrets.ts'
import { reservedNames } from '../identity-of-owner.ts'
import { deleteInvitationsToUsername } from '../organisations/invitation-table.ts'
import { assertOwnerNotSuspended } from '../owner-suspension.ts'
import { ownerById, updateOwner } from '../owner-table.ts'
import type { OwnerDeps } from '../providers/providers.ts'
import { quarantineUsername } from '../username-quarantine.ts'
import { assertUsernameAvailable } from './add-owner.ts'
import { assertStillSignedIn, isSessionValid, type Session } from './session.ts'
import { sessionsOfOwner } from './session-table.ts'
import {
  passkeysOfOwner,
  recoveryCodesOfOwner,
  signInIdentitiesOfOwner,
} from './sign-in-method-table.ts'

/**
 * Changes an owner's username or display name, and appends `owner.updated`. The date of the change is published for some
 * time (`OwnerRecord.nameChangedAt`), since the new name was not there when the owner was verified.
 * @returns the owner after the change
 * @throws CodedError VALIDATION_ERROR if a name is invalid or the username is taken, UNAUTHENTICATED if the session has
 *   ended, FORBIDDEN if the owner is suspended
 */
export async function editAccount(
  deps: Pick<OwnerDeps, 'db' | 'site' | 'serviceName' | 'pepper' | 'now'>,
  session: Session,
  { username, displayName }: AccountPatch,
): Promise<OwnerRow> {
  const { db, site, pepper, now } = deps
  if (username !== undefined) requireUsername(site.naming, username)
  if (displayName !== undefined)
    assertHonestName('A display name', displayName, reservedNames(deps))
  const { ownerId } = session
  return db.write(async (tx) => {
    // Checked in the transaction: otherwise a concurrent deletion could be followed by a new name.
    await assertStillSignedIn(tx, session)
    await assertOwnerNotSuspended(tx.db, ownerId)
    const at = now()
    const before = (await ownerById(tx.db, ownerId)) as OwnerRow
    if (username !== undefined) await changeUsername(tx, pepper, before, username, at)
    if (displayName !== undefined) await updateOwner(tx, ownerId, { display_name: displayName })
    const isChanged =
      (username ?? before.username) !== before.username ||
      (displayName ?? before.display_name) !== before.display_name
    if (isChanged) await updateOwner(tx, ownerId, { name_changed_at: at })
    const seq = tx.nextSeq()
    const payload = { ...(username && { username }), ...(displayName && { displayName }) }
    await appendEvent(tx, { seq, at, type: 'owner.updated', tail: null, ownerId, payload })
    return (await ownerById(tx.db, ownerId)) as OwnerRow
  })
}

async function changeUsername(
  tx: Tx,
  pepper: Pepper,
  owner: OwnerRow,
  username: string,
  at: number,
): Promise<void> {
  await assertUsernameAvailable(tx, pepper, username, owner.id, at)
  const username_skeleton = usernameSkeleton(username)
  if (username_skeleton !== usernameSkeleton(owner.username)) {
    const released = {
      namespace: 'owner',
      username: owner.username,
      ownerId: owner.id,
      at,
    } as const
    await quarantineUsername(tx, pepper, released)
  }
  if (username !== owner.username) await deleteInvitationsToUsername(tx, username)
  await updateOwner(tx, owner.id, { username, username_skeleton })
}

/** Reads an account as its owner sees it: the response of `GET /api/account`. */
export async function describeAccount(
  { db, providers, now }: Pick<OwnerDeps, 'db' | 'providers' | 'now'>,
  session: Session,
): Promise<Account> {
  const { ownerId } = session
  const owner = (await ownerById(db.read, ownerId)) as OwnerRow
  const passkeys = await passkeysOfOwner(db.read, ownerId)
  const codes = await recoveryCodesOfOwner(db.read, ownerId)
  const linked = await signInIdentitiesOfOwner(db.read, ownerId)
  return {
    owner: { username: owner.username, displayName: owner.display_name },
    createdAt: timestamp(owner.created_at),
    passkeys: passkeys.map(describePasskey),
    recoveryCodes: {
      left: codes.length,
      createdAt: codes[0] === undefined ? null : timestamp(codes[0].created_at),
    },
    sessions: await describeSessions(db.read, session, now()),
    signInProviders: providers.all
      .filter(({ id, signIn }) => signIn || linked.some((each) => each.provider === id))
      .map(({ id, label }) => {
        const link = linked.find((each) => each.provider === id)
        return { id, label, linkedAt: link === undefined ? null : timestamp(link.created_at) }
      }),
  }
}

async function describeSessions(
  db: Db,
  current: Session,
  now: number,
): Promise<Account['sessions']> {
  const rows = await sessionsOfOwner(db, current.ownerId)
  return rows
    .filter((row) => isSessionValid(row, now))
    .map((row) => ({
      id: row.id,
      current: row.id === current.id,
      method: row.method,
      browser: row.browser,
      createdAt: timestamp(row.signed_in_at),
      lastSeenAt: timestamp(row.last_seen_at),
      expiresAt: timestamp(row.expires_at),
    }))
}

/** A passkey as account responses show it. */
export function describePasskey(row: PasskeyRow): Account['passkeys'][number] {
  return {
    id: row.credential_id,
    name: row.name,
    createdAt: timestamp(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : timestamp(row.last_used_at),
    backedUp: row.backed_up === 1,
  }
}
