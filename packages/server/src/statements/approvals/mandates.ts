import {
  CodedError,
  hundredthsOf,
  MAX_MANDATE_DAYS,
  MAX_MANDATES,
  type Mandate,
  type MandateState,
  type MandateStatement,
  type Mandates,
  mandateAmount,
  mandateChallenge,
  mandateFault,
  mandateStatement,
  type NewMandate,
  queryOf,
  type RequestToApprove,
  type Tail,
} from '@countersign/protocol'
import { recordAccountActivity } from '../../accounts/account-activity-table.ts'
import { liveMemberNames } from '../../accounts/organisations/membership-table.ts'
import { assertStillSignedIn, type Session } from '../../accounts/owners/session.ts'
import { displayNameOf } from '../../agents/card.ts'
import { didOfAgent, type Site } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { AgentRow, Db, Tx } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { amountOfUses, type CurrentApproval, countUses, lastUses } from './approval-table.ts'
import {
  type CurrentMandate,
  endMandate,
  insertMandate,
  mandateById,
  mandatesOfOwner,
  unendedMandates,
} from './mandate-table.ts'
import { assertionOf, mayStillAsk, requireOwnApproval } from './read-approvals.ts'
import { invalidAssertion, type PasskeyDeps, recordUse, verifySigned } from './signed-by-passkey.ts'

type ReadDeps = Pick<CoreDeps, 'db' | 'site' | 'now'>

/** The form of an id: PostgreSQL fails on U+0000. */
const ID = /^md_[A-Za-z0-9_-]{22}$/
const ID_BYTES = 16
const DAY_MS = 86_400_000
const PAGE_SIZE = 30
const SHOWN_USES = 100
const ALL = Number.MAX_SAFE_INTEGER

/** What has become of a mandate, as of now: nothing else needs to know of mandates. @param now milliseconds since 1970 */
function stateOf(row: CurrentMandate, now: number): MandateState {
  if (row.ended_at !== null) return 'ended'
  if (row.expires_at <= now) return 'expired'
  return isAgentUnchanged(row) ? 'active' : 'ended'
}

/** An agent that was suspended or given away since does not get its mandates back. */
function isAgentUnchanged(row: CurrentMandate): boolean {
  return (
    mayStillAsk(row) &&
    row.agent_status_at <= row.created_at &&
    (row.agent_owner_at ?? 0) <= row.created_at
  )
}

function statementIn({ statement }: Pick<CurrentMandate, 'statement'>): MandateStatement {
  return JSON.parse(statement) as MandateStatement
}

/** A mandate that admits a request, and what the request counts. */
export interface Admission {
  readonly mandate: CurrentMandate
  readonly hundredths: number
  /** How much of the total is used with it, if the owner is to be notified; null: they are not. */
  readonly percent: 80 | 100 | null
}

/**
 * The oldest mandate of an agent that admits a request. The caller inserts the use in the same transaction, so that no other
 * request comes between.
 * @returns null if none does: the owner is asked
 */
export async function admitByMandate(
  tx: Tx,
  { tail }: Pick<AgentRow, 'tail'>,
  request: RequestToApprove,
  at: number,
): Promise<Admission | null> {
  for (const mandate of await unendedMandates(tx.db, tail, at)) {
    if (!isAgentUnchanged(mandate)) continue
    const terms = statementIn(mandate)
    const hundredths = mandateAmount(terms, terms.query, request)
    if (hundredths === null) continue
    if ((await countUses(tx.db, mandate.id, at - DAY_MS)) >= terms.perDay) continue
    if (terms.total === null) return { mandate, hundredths, percent: null }
    const most = hundredthsOf(terms.total.amount) ?? 0
    const before = await amountOfUses(tx.db, mandate.id, at - terms.total.days * DAY_MS)
    const after = before + hundredths
    if (after <= most) return { mandate, hundredths, percent: reachedBy(before, after, most) }
  }
  return null
}

function reachedBy(before: number, after: number, most: number): Admission['percent'] {
  if (after === before) return null
  if (after === most) return 100
  return before * 5 < most * 4 && after * 5 >= most * 4 ? 80 : null
}

/**
 * Makes a mandate from an approval that was given. A passkey of the person that is established signs its statement.
 * @throws CodedError NOT_FOUND if the owner has no such approval; VALIDATION_ERROR; CONFLICT if it was not approved by a passkey,
 *   its body was deleted, the same mandate was made before, or the agent has 20; AGENT_NOT_ACTIVE if the agent has changed since;
 *   INVALID_SIGNATURE; FORBIDDEN if the passkey or the role is younger than 72 hours; UNAUTHENTICATED
 */
export async function createMandate(
  deps: PasskeyDeps,
  session: Session,
  wanted: NewMandate,
): Promise<Mandate> {
  const { db, site, now } = deps
  const { ownerId, membership } = session
  const from = await requireOwnApproval(db.read, ownerId, wanted.from)
  assertGiven(from)
  const { statement, expiresAt } = statementOf(site, wanted, from, now())
  const challenge = mandateChallenge(site.naming.shortName, statement)
  const signed = await verifySigned(deps, session, challenge, wanted.response)
  if (signed === null) throw invalidAssertion()
  const id = `md_${Buffer.from(challenge.subarray(0, ID_BYTES)).toString('base64url')}`
  await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    const { tail, key_sequence, id: approval_id } = from
    assertGiven(await requireOwnApproval(tx.db, ownerId, approval_id))
    await recordUse(tx, session, signed, at)
    const unended = await unendedMandates(tx.db, tail, at)
    if (unended.filter(isAgentUnchanged).length >= MAX_MANDATES) {
      throw new CodedError('CONFLICT', `An agent can have ${MAX_MANDATES} mandates. End one first.`)
    }
    const isNew = await insertMandate(tx, {
      id,
      tail,
      owner_id: ownerId,
      key_sequence,
      approval_id,
      statement,
      created_at: at,
      created_by: membership?.id ?? null,
      expires_at: expiresAt,
      ended_at: null,
      ...signed.assertion,
    })
    // An assertion is for one mandate, also after it has ended.
    if (!isNew) throw new CodedError('CONFLICT', 'You have made this mandate before.')
    const details = { agent: didOfAgent(site, tail as Tail), mandate: id }
    await recordAccountActivity(tx, { ownerId, type: 'owner.mandate_created', details, at })
  })
  return getMandate(deps, ownerId, id)
}

/** @throws CodedError CONFLICT, AGENT_NOT_ACTIVE */
function assertGiven(from: CurrentApproval): void {
  const { state, mandate_id: mandate, body, body_digest: digest } = from
  if (state !== 'approved' || mandate !== null) {
    throw new CodedError('CONFLICT', 'A mandate needs a request that a passkey has approved.')
  }
  if (body === null && digest !== null) {
    throw new CodedError(
      'CONFLICT',
      'The body of this request was deleted, 30 days after its end. Use a newer approval.',
    )
  }
  if (mayStillAsk(from)) return
  throw new CodedError(
    'AGENT_NOT_ACTIVE',
    'Since this approval, the agent is not active, has another key or another owner, or may no longer ask.',
  )
}

/** @throws CodedError VALIDATION_ERROR */
function statementOf(
  site: Site,
  wanted: NewMandate,
  from: CurrentApproval,
  now: number,
): { readonly statement: string; readonly expiresAt: number } {
  const agent = didOfAgent(site, from.tail as Tail)
  if (wanted.agent !== agent) {
    throw new CodedError('VALIDATION_ERROR', 'The approval is one of another agent.')
  }
  const fault = mandateFault(wanted, requestIn(from))
  if (fault !== null) throw new CodedError('VALIDATION_ERROR', fault)
  const expiresAt = Date.parse(wanted.expiresAt)
  const isInTime = expiresAt > now && expiresAt <= now + MAX_MANDATE_DAYS * DAY_MS
  if (!isInTime || timestamp(expiresAt) !== wanted.expiresAt) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `expiresAt must be within the next ${MAX_MANDATE_DAYS} days, such as ${timestamp(now + DAY_MS)}.`,
    )
  }
  const { salt, url, id } = from
  const query = queryOf(url)
  const service = site.baseUrl
  const statement = mandateStatement({ ...wanted, agent, from: id, query, salt, service })
  return { statement, expiresAt }
}

function requestIn({ method, url, content_type: contentType, body }: CurrentApproval) {
  return { method, url, contentType, body }
}

/**
 * Ends a mandate: it approves nothing more. Tokens of what it has approved stay valid for their 120 seconds.
 * @throws CodedError NOT_FOUND, UNAUTHENTICATED
 */
export async function endOwnMandate(
  { db, site, now }: ReadDeps,
  session: Session,
  id: string,
): Promise<void> {
  const { ownerId } = session
  await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    const { ended_at: endedAt, tail } = await requireOwnMandate(tx.db, ownerId, id)
    if (endedAt !== null) return
    await endMandate(tx, id, at)
    const details = { agent: didOfAgent(site, tail as Tail), mandate: id }
    await recordAccountActivity(tx, { ownerId, type: 'owner.mandate_ended', details, at })
  })
}

/** @throws CodedError NOT_FOUND, also for a mandate of another owner */
async function requireOwnMandate(db: Db, ownerId: number, id: string): Promise<CurrentMandate> {
  const row = ID.test(id) ? await mandateById(db, id) : undefined
  if (row?.owner_id === ownerId) return row
  throw new CodedError('NOT_FOUND', 'You have no such mandate.')
}

/** A page of an owner's mandates, newest first. @param before `next` of the page before. Any other text gives the first page */
export async function listMandates(
  { db, site, now }: ReadDeps,
  ownerId: number,
  before: string | undefined,
): Promise<Mandates> {
  const after = /^\d{1,15}$/.test(before ?? '') ? Number(before) : ALL
  const rows = await mandatesOfOwner(db.read, ownerId, after, PAGE_SIZE + 1)
  const page = rows.slice(0, PAGE_SIZE)
  const last = page.at(-1)
  return {
    mandates: await summariesOf(db.read, site, page, now()),
    next: rows.length > PAGE_SIZE && last !== undefined ? String(last.seq) : null,
  }
}

/** A mandate as its owner sees it, with its uses. @throws CodedError NOT_FOUND */
export async function getMandate(
  { db, site, now }: ReadDeps,
  ownerId: number,
  id: string,
): Promise<Mandate> {
  const row = await requireOwnMandate(db.read, ownerId, id)
  const hasTotal = statementIn(row).total !== null
  const [uses, [summary]] = await Promise.all([
    lastUses(db.read, id, SHOWN_USES),
    summariesOf(db.read, site, [row], now()),
  ])
  return {
    ...(summary as Mandates['mandates'][number]),
    ...signedOf(row),
    uses: uses.map((use) => ({
      approval: use.id,
      method: use.method,
      url: use.url,
      amount: hasTotal ? amountText(use.hundredths ?? 0) : null,
      at: timestamp(use.created_at),
    })),
  }
}

/** All mandates of an owner, oldest first, for the export of the account. */
export async function exportMandates({ db, site, now }: ReadDeps, ownerId: number) {
  const rows = (await mandatesOfOwner(db.read, ownerId, ALL, ALL)).reverse()
  const summaries = await summariesOf(db.read, site, rows, now())
  return rows.map((row, i) => ({
    ...(summaries[i] as Mandates['mandates'][number]),
    ...signedOf(row),
  }))
}

function signedOf(row: CurrentMandate) {
  return { statement: row.statement, assertion: assertionOf(row) }
}

async function summariesOf(
  db: Db,
  site: Site,
  rows: readonly CurrentMandate[],
  now: number,
): Promise<Mandates['mandates']> {
  const makers = rows.flatMap(({ created_by }) => created_by ?? [])
  const names = await liveMemberNames(db, makers)
  const summaries: Mandates['mandates'] = []
  for (const row of rows) {
    const { display_name: displayName, username } = row
    const tail = row.tail as Tail
    const { from, limits, body, total, perDay, query } = statementIn(row)
    const amount = total && (await amountOfUses(db, row.id, now - total.days * DAY_MS))
    summaries.push({
      id: row.id,
      agent: didOfAgent(site, tail),
      displayName: displayNameOf({ tail, profile: { displayName, username } }),
      state: stateOf(row, now),
      from,
      limits: {
        origins: [...limits.origins],
        methods: [...limits.methods],
        paths: [...limits.paths],
      },
      body,
      total,
      perDay,
      query,
      used: {
        lastDay: await countUses(db, row.id, now - DAY_MS),
        amount: amount === null ? null : amountText(amount),
      },
      createdAt: timestamp(row.created_at),
      createdBy: names.get(row.created_by ?? '')?.displayName ?? null,
      expiresAt: timestamp(row.expires_at),
      endedAt: timestampOrNull(row.ended_at),
    })
  }
  return summaries
}

function amountText(hundredths: number): string {
  return `${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, '0')}`
}
