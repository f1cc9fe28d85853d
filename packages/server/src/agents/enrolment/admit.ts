import {
  CodedError,
  didOf,
  type EnrolRequest,
  type EnrolResponse,
  encodeBase64,
  gradeOf,
  MAX_ENROLLED_AGENTS,
  platformTokenHash,
  randomTail,
  type Tail,
} from '@countersign/protocol'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import {
  evidenceOfVerification,
  hasCurrentVerification,
  verificationsOfOwner,
} from '../../accounts/verification-table.ts'
import type { RateSetting } from '../../base/parse-settings.ts'
import type { Site } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Tx } from '../../database/database.ts'
import type { EnrolmentRuleRow } from '../../database/schema/enrolment-rows.ts'
import { thumbprintBytes } from '../../secrets/ed25519.ts'
import { agentByTail } from '../agent-table.ts'
import type { AppliedChange } from '../changes/change.ts'
import { eventOf, type LoggedChange, loggedChangeOf, queueRowOf } from '../changes/changes.ts'
import { agentOfPair, describeMinted, insertMinted, type NewAgent } from '../claims/claim-table.ts'
import { type KeyReuse, keyUseOf, keyUseRefusal } from '../keys/key-use.ts'
import { followIfLeft } from '../responsible/missing-responsible.ts'
import { scheduleEnd } from './end-enrolment.ts'
import {
  countEnrolled,
  enrolmentOf,
  insertEnrolment,
  takeToken,
  updateSeen,
} from './enrolment-table.ts'
import type { Attention } from './notify-of-rule.ts'
import { FORGOTTEN_MS, storedClaims } from './read-rule.ts'
import { ruleById, updateRule } from './rule-table.ts'
import type { AcceptedToken } from './verify-token.ts'

export interface AdmitDeps {
  readonly site: Site
  readonly keyReuse: KeyReuse
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
  /** How many new agents an owner may enrol; null: no limit. */
  readonly newAgents: RateSetting | null
}

/** A workload whose signature and token are verified. */
export interface VerifiedWorkload {
  readonly ruleId: string
  readonly token: string
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly thumbprint: string
  /** What it sent. */
  readonly evidence: EnrolRequest
  readonly accepted: AcceptedToken
}

/** An enrolment is refused by a check of the token, or by the transaction. */
export class EnrolmentRefusal extends Error {
  readonly check: string
  readonly coded: CodedError
  /** What the owner is notified of, or null. */
  readonly attention: Attention | null

  constructor(check: string, coded: CodedError, attention: Attention | null = null) {
    super(coded.message)
    this.check = check
    this.coded = coded
    this.attention = attention
  }
}

/** An agent should enrol again after this part of the time in which it would end. */
const RENEW_PART = 3

/** @throws CodedError NOT_FOUND, FORBIDDEN */
export function assertOpen(rule: EnrolmentRuleRow | undefined, at: number): EnrolmentRuleRow {
  if (rule === undefined || rule.state === 'deleted') {
    throw new CodedError('NOT_FOUND', 'There is no enrolment rule with this id.')
  }
  if (rule.state === 'paused') {
    throw new CodedError('FORBIDDEN', 'This enrolment rule is paused.')
  }
  if (at - rule.admitted_at <= FORGOTTEN_MS) return rule
  throw new CodedError(
    'FORBIDDEN',
    'This enrolment rule has enrolled nobody for 30 days. Its owner can resume it.',
  )
}

/**
 * Enrols a workload or renews its agent, by what is true in the transaction.
 * @throws EnrolmentRefusal; CodedError NOT_FOUND or FORBIDDEN if the rule is gone or paused, or its owner suspended
 */
export async function admit(
  deps: AdmitDeps,
  tx: Tx,
  workload: VerifiedWorkload,
): Promise<EnrolResponse> {
  const at = deps.now()
  const { accepted, publicKey } = workload
  const { agentId } = accepted
  const rule = assertOpen(await ruleById(tx.db, workload.ruleId), at)
  await assertOwnerNotSuspended(tx.db, rule.owner_id)
  await assertFirstUse(tx, workload, at)
  const existing = await agentOfPair(tx.db, publicKey, agentId)
  const endsAt = at + rule.unseen_after_seconds * 1000
  const seen = { seen_at: at, ends_at: endsAt, claims: storedClaims(rule, accepted.claims) }
  const tail = existing === undefined ? await mint(deps, tx, rule, workload, at) : existing.tail
  if (existing === undefined) {
    const row = { tail, rule_id: rule.id, owner_id: rule.owner_id, created_at: at }
    await insertEnrolment(tx, { ...row, ...seen })
  } else {
    await assertRenewable(tx, rule, tail)
    await updateSeen(tx, tail, seen)
  }
  await scheduleEnd(tx, tail, endsAt)
  const keys = keysColumnsOf(rule, accepted, at)
  await updateRule(tx, rule.id, { ...keys, admitted_at: at, last_enrolled_at: at })
  const { naming } = deps.site
  const renewed = existing !== undefined
  return {
    success: true,
    message: renewed ? 'The agent is renewed.' : 'The agent is enrolled.',
    [naming.didField]: didOf(naming, tail as Tail),
    agentId,
    renewed,
    renewAfter: timestamp(at + Math.floor((rule.unseen_after_seconds * 1000) / RENEW_PART)),
    endsAt: timestamp(endsAt),
  }
}

/** What the verification of a token shows of the keys of its issuer. */
function keysColumnsOf(
  { keys_failed_at: failedAt }: EnrolmentRuleRow,
  { keysReadAt, keysProblem }: AcceptedToken,
  at: number,
) {
  if (keysReadAt === null) return {}
  const read = { keys_read_at: keysReadAt, keys_problem: keysProblem }
  return { ...read, keys_failed_at: keysProblem === null ? null : (failedAt ?? at) }
}

/** A token that is not bound to a key belongs to the first key that uses it. */
async function assertFirstUse(tx: Tx, workload: VerifiedWorkload, at: number): Promise<void> {
  const { token, thumbprint, accepted } = workload
  if (accepted.isBoundToKey) return
  const hash = Buffer.from(platformTokenHash(token), 'base64url')
  if (await takeToken(tx, { hash, thumbprint, expiresAt: accepted.expiresAt * 1000 }, at)) return
  const message = 'Another key has used this token. Ask the platform for a new one.'
  throw new EnrolmentRefusal('token-reused', new CodedError('CONFLICT', message), 'token-reused')
}

async function assertRenewable(tx: Tx, rule: EnrolmentRuleRow, tail: string): Promise<void> {
  const enrolment = await enrolmentOf(tx.db, tail)
  if (enrolment?.rule_id !== rule.id) {
    const message = 'This key has an agent with this label that is not of this rule.'
    throw new EnrolmentRefusal('key', new CodedError('KEY_ALREADY_CLAIMED', message))
  }
  const agent = await agentByTail(tx.db, tail)
  if (agent?.status === 'active') return
  const message = `This agent is ${agent?.status}, so it cannot be renewed.`
  throw new EnrolmentRefusal('status', new CodedError('AGENT_NOT_ACTIVE', message))
}

/** Makes a new agent, by the rules of a claim. @returns its tail */
async function mint(
  deps: AdmitDeps,
  tx: Tx,
  rule: EnrolmentRuleRow,
  { publicKey, accepted: { agentId }, evidence }: VerifiedWorkload,
  at: number,
): Promise<string> {
  const { owner_id: ownerId } = rule
  if (!(await hasCurrentVerification(tx.db, ownerId, at))) {
    const message = 'The owner has no current identity verification.'
    throw new EnrolmentRefusal('identity', new CodedError('IDENTITY_REQUIRED', message))
  }
  const use = await keyUseOf(tx.db, { publicKey, agentId, ownerId }, null, at)
  const refusal = keyUseRefusal(deps.keyReuse, use)
  if (refusal !== null) throw new EnrolmentRefusal('key', refusal)
  await assertSeat(deps, tx, rule, at)
  const tail = randomTail(deps.randomBytes)
  const verifications = (await verificationsOfOwner(tx.db, ownerId)).map(evidenceOfVerification)
  const agent = {
    seq: tx.nextSeq(),
    tail,
    public_key: publicKey,
    key_thumbprint: thumbprintBytes(publicKey),
    agent_id: agentId,
    owner_id: ownerId,
    claimed_at: at,
    grade: gradeOf({ status: 'active', verifications, channels: [], now: at }).grade,
    responsible: await responsibleOf(tx, rule, at),
  } satisfies NewAgent
  const applied = appliedEnrolment(deps.site, agent, evidence)
  const logged = loggedChangeOf(applied) as LoggedChange
  await insertMinted(
    tx,
    { tokenHashes: [], agents: [agent], events: [eventOf(applied)], queued: [queueRowOf(logged)] },
    at,
  )
  const { display_name, description } = rule
  if (display_name !== null || description !== null) {
    await describeMinted(tx, tail, { display_name, description })
  }
  return tail
}

/** Who is responsible for the rule is for its agents too. If they have left, managers are told that nobody is. */
async function responsibleOf(
  tx: Tx,
  { owner_id: orgId, responsible }: EnrolmentRuleRow,
  at: number,
): Promise<string | null> {
  if (responsible !== null) await followIfLeft(tx, { orgId, responsible }, at)
  return responsible
}

async function assertSeat(
  { newAgents }: AdmitDeps,
  tx: Tx,
  rule: EnrolmentRuleRow,
  at: number,
): Promise<void> {
  const since = at - (newAgents?.windowMs ?? 0)
  const { ofRule, ofOwner, created } = await countEnrolled(tx.db, rule.id, rule.owner_id, since)
  if (ofRule >= rule.max_live) {
    const message = `This rule has ${rule.max_live} agents, which is its limit (maxLive).`
    throw new EnrolmentRefusal('full', new CodedError('CONFLICT', message), 'full')
  }
  if (ofOwner >= MAX_ENROLLED_AGENTS) {
    const message = `The owner has ${MAX_ENROLLED_AGENTS} enrolled agents.`
    throw new EnrolmentRefusal('full', new CodedError('CONFLICT', message), 'full')
  }
  if (newAgents === null || created < newAgents.quota) return
  const message = `The owner has enrolled ${created} new agents, which is the limit for now.`
  const options = { retryAfterSeconds: 60 }
  throw new EnrolmentRefusal('rate', new CodedError('RATE_LIMITED', message, options))
}

/** The evidence says everything but the token, which is a credential until it expires. */
function appliedEnrolment(
  { baseUrl }: Site,
  agent: NewAgent,
  { rule, token, issuedAt, signature }: EnrolRequest,
): AppliedChange {
  const evidence = {
    service: baseUrl,
    rule,
    tokenHash: platformTokenHash(token),
    agentId: agent.agent_id,
    publicKey: encodeBase64(agent.public_key),
    issuedAt,
    signature,
  }
  const after = { ...agent, status: 'active', key_sequence: 1, delegation_depth: 0 } as const
  const change = { type: 'agent.claimed', evidence } as const
  return { change, before: after, after, seq: agent.seq, at: agent.claimed_at }
}
