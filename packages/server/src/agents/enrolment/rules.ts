import {
  CodedError,
  ENROLMENT_DEFAULTS,
  type EnrolmentRule,
  type EnrolmentRulePatch,
  type EnrolmentRules,
  MAX_ENROLMENT_RULES,
  type NewEnrolmentRule,
  pointerProblem,
  randomBase58,
} from '@countersign/protocol'
import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import type { Caller } from '../../accounts/notify-of-access.ts'
import { isLost, type MembershipEffect } from '../../accounts/organisations/end-membership.ts'
import type { MemberNames } from '../../accounts/organisations/membership-table.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import { assertStillSignedIn, type Session } from '../../accounts/owners/session.ts'
import { hasCurrentVerification } from '../../accounts/verification-table.ts'
import type { Site } from '../../base/site.ts'
import { timestamp, timestampOrNull } from '../../base/timestamp.ts'
import type { Database, Tx } from '../../database/database.ts'
import { appendEvent } from '../../database/event-table.ts'
import type { EnrolmentRuleRow } from '../../database/schema/enrolment-rows.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { assertMember, responsiblePersons } from '../responsible/responsible-person.ts'
import { scheduleEndOfRule } from './end-enrolment.ts'
import { countLiveOfRule } from './enrolment-table.ts'
import type { PlatformKeys } from './platform-keys.ts'
import { audienceOf, FORGOTTEN_MS, keysOf, matchOf } from './read-rule.ts'
import {
  type CountedRule,
  everyRuleOf,
  insertRule,
  ruleById,
  rulesOf,
  updateRule,
} from './rule-table.ts'
import { assertKeysReadable, assertSound, invalid } from './sound-rule.ts'

export interface RuleDeps extends CoreDeps {
  readonly platformKeys: PlatformKeys
}

/** Who pauses or ends a rule: its owner, or the operator in their place. */
export type RuleActor = Pick<Caller, 'ownerId' | 'apiKey'> & { readonly isOperator?: true }

const ID_LENGTH = 22

/** The rules that a member created or is responsible for go on without them, and are listed for review. */
export const rulesOfEndedMember: MembershipEffect = async (tx, lost) => {
  if (!isLost(lost, 'manager')) return {}
  const { id, org_id: ownerId } = lost.membership
  // A member may be responsible without a role that creates rules.
  const toReview = (await rulesOf(tx.db, ownerId)).filter(
    ({ created_by: maker, responsible }) =>
      maker === id || (responsible === id && lost.role === null),
  )
  return { toReview: { enrolmentRules: toReview.map((each) => each.id) } }
}

/** The rules of an owner, newest first. */
export async function listRules(
  { db, site }: { readonly db: Pick<Database, 'read'>; readonly site: Site },
  ownerId: number,
): Promise<EnrolmentRules> {
  const rows = await rulesOf(db.read, ownerId)
  const persons = await responsiblePersons(db.read, rows)
  return { rules: rows.map((row) => describeRule(site, row, persons)) }
}

/** All rules of an owner, deleted ones too. */
export async function exportRules(
  { db, site }: { readonly db: Pick<Database, 'read'>; readonly site: Site },
  ownerId: number,
) {
  const rows = await everyRuleOf(db.read, ownerId)
  const persons = await responsiblePersons(db.read, rows)
  return rows.map((row) => ({ ...describeRule(site, row, persons), state: row.state }))
}

/** @throws CodedError NOT_FOUND */
export async function getRule(
  { db, site }: { readonly db: Pick<Database, 'read'>; readonly site: Site },
  ownerId: number,
  id: string,
): Promise<EnrolmentRule> {
  const rule = await requireOwnRule({ db: db.read }, ownerId, id)
  const persons = await responsiblePersons(db.read, [rule])
  return describeRule(site, { ...rule, live: await countLiveOfRule(db.read, id) }, persons)
}

/**
 * Creates a rule, for which the keys of the issuer are read at once.
 * @throws CodedError VALIDATION_ERROR if it would accept the tokens of strangers, or the keys cannot be read; IDENTITY_REQUIRED,
 *   FORBIDDEN if the owner is suspended, CONFLICT if there are 20, UNAUTHENTICATED
 */
export async function createRule(
  deps: RuleDeps,
  session: Session,
  rule: NewEnrolmentRule,
): Promise<EnrolmentRule> {
  const { db, now, randomBytes } = deps
  const { issuer = null, trustDomain = null, agentId = null, agentIdClaim = null } = rule
  if ((agentId === null) === (agentIdClaim === null)) {
    throw invalid('A rule has exactly one of agentId and agentIdClaim.')
  }
  const labelProblem = agentIdClaim === null ? null : pointerProblem(agentIdClaim)
  if (labelProblem !== null) throw invalid(`agentIdClaim: ${agentIdClaim} ${labelProblem}`)
  const changeable = { ...ENROLMENT_DEFAULTS, profile: NO_PROFILE, ...rule }
  assertSound(deps, { issuer, trustDomain }, changeable)
  await assertKeysReadable(deps, { issuer, trust_domain: trustDomain, keys: rule.keys })
  const id = `er_${randomBase58(ID_LENGTH, randomBytes)}`
  const { ownerId } = session
  await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    await assertOwnerNotSuspended(tx.db, ownerId)
    if (!(await hasCurrentVerification(tx.db, ownerId, at))) {
      throw new CodedError('IDENTITY_REQUIRED', 'The owner has no current identity verification.')
    }
    if ((await rulesOf(tx.db, ownerId)).length >= MAX_ENROLMENT_RULES) {
      throw new CodedError(
        'CONFLICT',
        `You have ${MAX_ENROLMENT_RULES} enrolment rules. Delete one that you no longer use.`,
      )
    }
    const inserted: EnrolmentRuleRow = {
      id,
      owner_id: ownerId,
      issuer,
      trust_domain: trustDomain,
      binding: rule.binding,
      agent_label: agentId,
      agent_label_claim: agentIdClaim,
      ...columnsOf(changeable),
      state: 'active',
      created_by: session.membership?.id ?? null,
      responsible: session.membership?.id ?? null,
      created_at: at,
      admitted_at: at,
      last_enrolled_at: null,
      refused_at: null,
      refused_check: null,
      keys_read_at: at,
      keys_failed_at: null,
      keys_problem: null,
    }
    await insertRule(tx, inserted)
    await recordChange(tx, session, inserted, 'owner.enrolment_rule_created', at)
  })
  return getRule(deps, ownerId, id)
}

/**
 * Changes a rule: all but what says whose tokens it accepts and what becomes of their label. The responsible person is that of new
 * agents only.
 * @throws CodedError NOT_FOUND, and those of `createRule`
 */
export async function changeRule(
  deps: RuleDeps,
  session: Session,
  id: string,
  { responsible, ...patch }: EnrolmentRulePatch,
): Promise<EnrolmentRule> {
  const { db, now } = deps
  const before = await requireOwnRule({ db: db.read }, session.ownerId, id)
  const changed = { ...changeableOf(before), ...patch }
  assertSound(deps, { issuer: before.issuer, trustDomain: before.trust_domain }, changed)
  if (patch.keys !== undefined) {
    await assertKeysReadable(deps, { ...before, keys: patch.keys })
  }
  await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    await assertOwnerNotSuspended(tx.db, session.ownerId)
    const rule = await requireOwnRule(tx, session.ownerId, id)
    if (responsible !== undefined) {
      if (session.membership === null) throw invalid(OF_ORGANISATIONS)
      await assertMember(tx.db, session.ownerId, responsible)
    }
    const read = { keys_read_at: at, keys_failed_at: null, keys_problem: null }
    const keys = patch.keys === undefined ? {} : read
    const columns = columnsOf({ ...changeableOf(rule), ...patch })
    await updateRule(tx, id, {
      ...columns,
      ...keys,
      ...(responsible !== undefined && { responsible }),
    })
    await recordChange(tx, session, rule, 'owner.enrolment_rule_changed', at)
  })
  return getRule(deps, session.ownerId, id)
}

/** Pauses a rule: it enrols and renews nobody, so its agents end when they are unseen for long enough. @throws CodedError NOT_FOUND */
export async function pauseRule(
  { db, site, now }: Pick<RuleDeps, 'db' | 'site' | 'now'>,
  caller: RuleActor,
  id: string,
): Promise<EnrolmentRule> {
  await db.write(async (tx) => {
    const rule = await requireOwnRule(tx, caller.ownerId, id)
    if (rule.state === 'paused') return
    const state = 'paused'
    await updateRule(tx, id, { state })
    await recordChange(tx, caller, { ...rule, state }, 'owner.enrolment_rule_changed', now())
  })
  return getRule({ db, site }, caller.ownerId, id)
}

/**
 * Resumes a rule that is paused, or has admitted nobody for 30 days.
 * @throws CodedError NOT_FOUND, UNAUTHENTICATED, FORBIDDEN if the owner is suspended
 */
export async function resumeRule(
  { db, site, now }: Pick<RuleDeps, 'db' | 'site' | 'now'>,
  session: Session,
  id: string,
): Promise<EnrolmentRule> {
  await db.write(async (tx) => {
    const at = now()
    await assertStillSignedIn(tx, session)
    await assertOwnerNotSuspended(tx.db, session.ownerId)
    const rule = await requireOwnRule(tx, session.ownerId, id)
    const state = 'active'
    await updateRule(tx, id, { state, admitted_at: at })
    await recordChange(tx, session, { ...rule, state }, 'owner.enrolment_rule_changed', at)
  })
  return getRule({ db, site }, session.ownerId, id)
}

/** Pauses a rule, and has all its agents revoked. @returns how many @throws CodedError NOT_FOUND */
export async function endRule(
  { db, now }: Pick<RuleDeps, 'db' | 'now'>,
  caller: RuleActor,
  id: string,
): Promise<{ readonly ending: number }> {
  return db.write(async (tx) => {
    const at = now()
    const rule = await requireOwnRule(tx, caller.ownerId, id)
    await updateRule(tx, id, { state: 'paused' })
    await scheduleEndOfRule(tx, id, at)
    await recordChange(tx, caller, { ...rule, state: 'paused' }, 'owner.enrolment_rule_changed', at)
    return { ending: await countLiveOfRule(tx.db, id) }
  })
}

/** Deletes a rule. Its agents go on until they are unseen for long enough. @throws CodedError NOT_FOUND */
export async function deleteRule(
  { db, now }: Pick<RuleDeps, 'db' | 'now'>,
  session: Session,
  id: string,
): Promise<void> {
  await db.write(async (tx) => {
    const at = now()
    const rule = await requireOwnRule(tx, session.ownerId, id)
    await updateRule(tx, id, { state: 'deleted' })
    await recordChange(tx, session, rule, 'owner.enrolment_rule_deleted', at)
  })
}

/** @throws CodedError NOT_FOUND, also for the rule of another owner */
export async function requireOwnRule(
  { db }: Pick<Tx, 'db'>,
  ownerId: number,
  id: string,
): Promise<EnrolmentRuleRow> {
  const rule = await ruleById(db, id)
  if (rule?.owner_id === ownerId && rule.state !== 'deleted') return rule
  throw new CodedError('NOT_FOUND', 'You have no enrolment rule with this id.')
}

const OF_ORGANISATIONS =
  'Only rules of organisations have a responsible person. You are responsible for your own.'

type Changeable = Required<Omit<EnrolmentRulePatch, 'responsible'>>

const NO_PROFILE = { displayName: null, description: null }

function changeableOf(rule: EnrolmentRuleRow): Changeable {
  return {
    name: rule.name,
    keys: keysOf(rule),
    match: matchOf(rule) as Changeable['match'],
    maxLive: rule.max_live,
    unseenAfterSeconds: rule.unseen_after_seconds,
    maxTokenSeconds: rule.max_token_seconds,
    profile: { displayName: rule.display_name, description: rule.description },
  }
}

function columnsOf({
  name,
  keys,
  match,
  maxLive,
  unseenAfterSeconds,
  maxTokenSeconds,
  profile,
}: Changeable) {
  return {
    name,
    keys: JSON.stringify(keys),
    match: JSON.stringify(match),
    max_live: maxLive,
    unseen_after_seconds: unseenAfterSeconds,
    max_token_seconds: maxTokenSeconds,
    display_name: profile.displayName,
    description: profile.description,
  }
}

type RuleEvent =
  | 'owner.enrolment_rule_created'
  | 'owner.enrolment_rule_changed'
  | 'owner.enrolment_rule_deleted'

/** Appends the event, and notifies the owner: a rule is access that outlasts the session. */
async function recordChange(
  tx: Tx,
  { ownerId, apiKey, isOperator }: RuleActor,
  { id, name, state }: Pick<EnrolmentRuleRow, 'id' | 'name' | 'state'>,
  type: RuleEvent,
  at: number,
): Promise<void> {
  const payload = { rule: id, name, state }
  const seq = tx.nextSeq()
  await appendEvent(tx, { seq, at, type, tail: null, ownerId, payload })
  await appendNotification(tx, {
    ownerId,
    kind: 'enrolment_rule_changed',
    subject: `${type}:${id}:${seq}`,
    details: {
      change: type,
      ...payload,
      ...(apiKey !== null && { apiKey }),
      ...(isOperator && { by: 'operator' }),
    },
    at,
  })
}

/** @param persons from `responsiblePersons` */
export function describeRule(site: Site, row: CountedRule, persons: MemberNames): EnrolmentRule {
  return {
    id: row.id,
    issuer: row.issuer,
    trustDomain: row.trust_domain,
    binding: row.binding,
    agentId: row.agent_label,
    agentIdClaim: row.agent_label_claim,
    ...changeableOf(row),
    audience: audienceOf(site, row.id),
    state: row.state === 'active' ? 'active' : 'paused',
    live: row.live,
    responsible: persons.get(row.responsible ?? '') ?? null,
    createdAt: timestamp(row.created_at),
    admitsUntil: timestamp(row.admitted_at + FORGOTTEN_MS),
    lastEnrolledAt: timestampOrNull(row.last_enrolled_at),
    lastRefusal:
      row.refused_at === null
        ? null
        : { at: timestamp(row.refused_at), check: row.refused_check ?? '' },
    keysReadAt: timestampOrNull(row.keys_read_at),
    keysProblem: row.keys_problem,
  }
}
