import { CodedError, MAX_MEMBERS, type SsoRole } from '@countersign/protocol'
import type { Tx } from '../../../database/database.ts'
import { recordAccountActivity } from '../../account-activity-table.ts'
import { reservedNames } from '../../identity-of-owner.ts'
import { CallbackRefusal } from '../../owners/callback-failure.ts'
import { beginFlow, consumeFlow } from '../../owners/flow.ts'
import { assertAdminLeft } from '../../owners/keep-admin.ts'
import { notifyOfSignInMethod } from '../../owners/notify-of-sign-in-method.ts'
import {
  assertStillSignedIn,
  type Browser,
  type MemberSession,
  startSession,
} from '../../owners/session.ts'
import { insertSignInIdentity, signInIdentity } from '../../owners/sign-in-method-table.ts'
import { callProvider, type OwnerDeps } from '../../providers/providers.ts'
import { endMembership } from '../end-membership.ts'
import { countMembers, insertMembership, liveMembershipIn } from '../membership-table.ts'
import { notifyOfMember } from '../notify-of-member.ts'
import { newMembershipId } from '../organisations.ts'
import { setRole } from '../set-role.ts'
import { addManagedAccount } from './managed-account.ts'
import { linkToScimUser, matchScimUser } from './match-scim-user.ts'
import { authenticatedAt, type Claims, nameOf, roleFromGroups } from './sso-claims.ts'
import { callbackUrlOf, providerIdOf, type SsoDeps } from './sso-connection.ts'
import {
  connectionById,
  connectionByUsername,
  connectionOf,
  type OrganisationConnection,
} from './sso-connection-table.ts'

const FLOW = 'organisation-sign-in'
const PROVIDER = { label: 'The identity provider of your organisation' }

/** Somebody whom an organisation's identity provider has authenticated. */
interface Authenticated {
  readonly connection: OrganisationConnection
  readonly subjectHash: Uint8Array
  /** The value of the connection's subject claim, if the ID token has it. */
  readonly externalId: string | null
  readonly name: string
  /** Milliseconds since the Unix epoch. */
  readonly authenticatedAt: number
  /** The role that their groups give them, if any. */
  readonly role: SsoRole | null
}

/**
 * Begins a sign-in at an organisation's identity provider.
 * @param username of the organisation
 * @returns where to send the browser, and the token for the flow cookie
 * @throws CodedError NOT_FOUND if the organisation does not exist or has none, UNAVAILABLE if it fails
 */
export async function beginSsoSignIn(
  deps: SsoDeps,
  username: string,
): Promise<{ redirect: string; token: string }> {
  const connection = await connectionByUsername(deps.db.read, username)
  if (connection !== undefined) return begin(deps, connection.id, null)
  throw new CodedError('NOT_FOUND', 'No organisation with this name signs in here.')
}

/**
 * Begins to link the identity of a member at their organisation's identity provider to their own account.
 * @throws CodedError NOT_FOUND if the organisation has none, FORBIDDEN if it started the session, UNAVAILABLE if it fails
 */
export async function beginSsoLink(
  deps: SsoDeps,
  { ownerId, personId, limitedTo }: MemberSession,
): Promise<{ redirect: string; token: string }> {
  if (limitedTo !== null) {
    throw new CodedError('FORBIDDEN', 'Sign in to your own account, without your organisation.')
  }
  const connection = await connectionOf(deps.db.read, ownerId)
  if (connection !== undefined) return begin(deps, connection.id, personId)
  throw new CodedError('NOT_FOUND', 'The organisation has no identity provider.')
}

async function begin(deps: SsoDeps, id: string, ownerId: number | null) {
  const { redirect, state } = await callProvider(PROVIDER, async () => {
    const client = await deps.ssoClients.clientOf(await readConnection(deps, id))
    return client.begin(callbackUrlOf(deps, id))
  })
  const provider = providerIdOf(id)
  const token = await beginFlow(deps, { kind: FLOW, ownerId, provider, state })
  return { redirect: redirect as string, token }
}

async function readConnection(deps: SsoDeps, id: string): Promise<OrganisationConnection> {
  const connection = await connectionById(deps.db.read, id)
  if (connection !== undefined) return connection
  throw new CodedError('NOT_FOUND', 'This identity provider is no longer connected.')
}

/** Whether there is a connection with this id. */
export async function isConnected({ db }: Pick<SsoDeps, 'db'>, id: string): Promise<boolean> {
  return (await connectionById(db.read, id)) !== undefined
}

interface SsoOutcome {
  /** The username of the organisation. */
  readonly organisation: string
  /** For the session cookie; null: the identity was linked. */
  readonly token: string | null
}

/**
 * Completes a sign-in or a link at the callback of a connection.
 * @param flow the token from the flow cookie, or null
 * @param url the callback URL with its query
 * @throws CallbackRefusal; CodedError NOT_FOUND if there is no such connection, UNAVAILABLE if the identity provider fails
 */
export async function completeSso(
  deps: SsoDeps & OwnerDeps,
  id: string,
  { flow, url }: { readonly flow: string | null; readonly url: URL },
  browser: Browser,
): Promise<SsoOutcome> {
  const provider = providerIdOf(id)
  const begun = await consumeFlow<object>(deps, flow, { kinds: [FLOW], provider })
  const connection = await readConnection(deps, id)
  const claims = await callProvider(PROVIDER, async () => {
    const client = await deps.ssoClients.clientOf(connection)
    return client.complete(callbackUrlOf(deps, id), url, begun.state)
  })
  const person = authenticated(deps, connection, claims)
  const organisation = connection.username
  if (begun.ownerId === null) return { organisation, token: await signIn(deps, person, browser) }
  await link(deps, person, begun.ownerId, browser)
  return { organisation, token: null }
}

/** Reads what counts of an ID token. Its e-mail address never does: the identity provider could name any. */
function authenticated(
  deps: SsoDeps & OwnerDeps,
  connection: OrganisationConnection,
  claims: Claims & { readonly iss: string; readonly sub: string },
): Authenticated {
  const { [connection.subject_claim]: externalId } = claims as Claims
  return {
    connection,
    subjectHash: deps.pepper.hash(providerIdOf(connection.id), claims.iss, claims.sub),
    externalId: typeof externalId === 'string' ? externalId : null,
    name: nameOf(claims, reservedNames(deps)),
    authenticatedAt: authenticatedAt(claims, deps.now()),
    role: roleFromGroups(connection, claims),
  }
}

/** @returns the value for the session cookie. @throws CallbackRefusal */
async function signIn(
  deps: SsoDeps & OwnerDeps,
  person: Authenticated,
  browser: Browser,
): Promise<string> {
  const { connection, subjectHash } = person
  const provider = providerIdOf(connection.id)
  const token = await deps.db.write(async (tx) => {
    const at = deps.now()
    await assertStillConnected(tx, connection)
    const known = (await signInIdentity(tx.db, provider, subjectHash))?.owner_id
    const user = await matchScimUser(tx, connection.org_id, person.externalId, at)
    const member = await enter(deps, tx, person, known ?? null, at)
    if (member === null) return null
    if (user !== null) await linkToScimUser(tx, user, member)
    await assertNotLastEmergencyAdmin(tx, connection.org_id)
    return startSession(deps, tx, {
      id: member,
      method: 'provider',
      browser,
      provider,
      limitedTo: connection.org_id,
      signedInAt: person.authenticatedAt,
      ...(known === undefined && { isNewAccount: true }),
    })
  })
  if (token !== null) return token
  throw new CallbackRefusal('no-role', 'None of your groups gives you a role here.')
}

/** The connection may have ended, or got other roles, while the browser was away. */
async function assertStillConnected(
  tx: Tx,
  { id, updated_at }: OrganisationConnection,
): Promise<void> {
  if ((await connectionById(tx.db, id))?.updated_at === updated_at) return
  throw new CallbackRefusal(
    'flow-expired',
    'The settings of the identity provider have changed. Start again.',
  )
}

/** @throws CallbackRefusal */
async function assertNotLastEmergencyAdmin(tx: Tx, orgId: number): Promise<void> {
  try {
    await assertAdminLeft(tx, orgId)
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    throw new CallbackRefusal('last-emergency-admin', error.message)
  }
}

/**
 * Sets the membership to what the groups say, unless a person gave the role.
 * @param known the account that has this identity, or null
 * @returns the account of the member; null, after the membership has ended, if no group gives a role
 * @throws CallbackRefusal `organisation-full`
 */
async function enter(
  deps: SsoDeps,
  tx: Tx,
  { connection, subjectHash, name, role }: Authenticated,
  known: number | null,
  at: number,
): Promise<number | null> {
  const { org_id: orgId, username } = connection
  const live = known === null ? undefined : await liveMembershipIn(tx.db, orgId, known)
  if (live?.source === 'manual') return live.person_id
  if (role === null) {
    if (live !== undefined) await endMembership(tx, live.id, 'no_group', at)
    return null
  }
  if (live !== undefined) {
    await setRole(tx, live, { role, source: 'sso' }, at)
    return live.person_id
  }
  if ((await countMembers(tx.db, orgId)) >= MAX_MEMBERS) {
    throw new CallbackRefusal(
      'organisation-full',
      `Your organisation has ${MAX_MEMBERS} members, which is the most.`,
    )
  }
  const personId = known ?? (await addManagedAccount(deps, tx, name, at))
  if (known === null) {
    await insertSignInIdentity(tx, {
      provider: providerIdOf(connection.id),
      subject_hash: subjectHash,
      owner_id: personId,
      created_at: at,
    })
  }
  const membership = {
    id: newMembershipId(deps.randomBytes),
    org_id: orgId,
    person_id: personId,
  }
  await insertMembership(tx, {
    ...membership,
    role,
    role_since: at,
    source: 'sso',
    created_at: at,
    ended_at: null,
    end_reason: null,
  })
  await notifyOfMember(tx, membership, { change: 'joined', role }, at)
  const details = { organisation: username, role }
  await recordAccountActivity(tx, { ownerId: personId, type: 'owner.joined', details, at })
  return personId
}

/** Links the identity to a member's own account, which the same browser must still be signed in to. @throws CallbackRefusal */
async function link(
  deps: SsoDeps,
  { connection, subjectHash, externalId }: Authenticated,
  personId: number,
  { session }: Browser,
): Promise<void> {
  if (session === null || session.personId !== personId || session.limitedTo !== null) {
    throw new CallbackRefusal(
      'other-owner',
      'You are no longer signed in as the owner who started this.',
    )
  }
  const { org_id: orgId } = connection
  const provider = providerIdOf(connection.id)
  await deps.db.write(async (tx) => {
    const at = deps.now()
    await assertStillSignedIn(tx, session)
    await assertStillConnected(tx, connection)
    if ((await liveMembershipIn(tx.db, orgId, personId)) === undefined) {
      throw new CallbackRefusal('no-role', 'You are no member of this organisation any more.')
    }
    const user = await matchScimUser(tx, orgId, externalId, at)
    if (user !== null) await linkToScimUser(tx, user, personId)
    await assertNotLastEmergencyAdmin(tx, orgId)
    const identity = { provider, subject_hash: subjectHash, owner_id: personId, created_at: at }
    if (!(await insertSignInIdentity(tx, identity))) {
      throw new CallbackRefusal(
        'already-linked',
        'This identity belongs to another account here, or you have already linked one.',
      )
    }
    await notifyOfSignInMethod(tx, personId, 'added', { method: 'provider', provider }, at)
  })
}
