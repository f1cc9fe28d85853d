import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { encodeBase64, namingFor, type Tail } from '@countersign/protocol'
import { insertAgent } from '../../../../../test/support/insert-agent.ts'
import { endMembership } from '../../../src/accounts/organisations/end-membership.ts'
import { insertMembership } from '../../../src/accounts/organisations/membership-table.ts'
import { insertOwner } from '../../../src/accounts/owner-table.ts'
import { addOwner } from '../../../src/accounts/owners/add-owner.ts'
import { insertApiKey } from '../../../src/accounts/owners/api-key-table.ts'
import { agentByTail } from '../../../src/agents/agent-table.ts'
import { changeAgent } from '../../../src/agents/changes/change-agent.ts'
import { insertDelegation } from '../../../src/agents/changes/delegation-table.ts'
import { openEpoch } from '../../../src/agents/changes/feed-change-table.ts'
import { allocateEntry } from '../../../src/agents/changes/status-entry-table.ts'
import { insertTokens } from '../../../src/agents/claims/claim-table.ts'
import { completeRecovery } from '../../../src/agents/keys/complete-recovery.ts'
import { contest } from '../../../src/agents/keys/contest.ts'
import { insertRecovery, keysOfAgent } from '../../../src/agents/keys/key-table.ts'
import { recover } from '../../../src/agents/keys/recover.ts'
import { REVOKE_RENOUNCED, renounce, revokeRenounced } from '../../../src/agents/keys/renounce.ts'
import { reportByKey } from '../../../src/agents/keys/report-key.ts'
import { rotate } from '../../../src/agents/keys/rotate.ts'
import type { KeyOperationDeps } from '../../../src/agents/keys/signed-operation.ts'
import { endDelegations } from '../../../src/agents/manage/delegation.ts'
import { transferJobOf } from '../../../src/agents/transfers/end-transfer.ts'
import { continueTransfer } from '../../../src/agents/transfers/move-agents.ts'
import { scheduleTransfer } from '../../../src/agents/transfers/start-transfer.ts'
import { insertAgents, insertTransfer } from '../../../src/agents/transfers/transfer-table.ts'
import { hashToken } from '../../../src/base/hash-token.ts'
import { siteOf } from '../../../src/base/site.ts'
import type { Database, JobRow, Tx } from '../../../src/database/database.ts'
import { appendAgentEvent } from '../../../src/database/event-table.ts'
import { jobById, takeJob } from '../../../src/database/jobs/job-table.ts'
import { openDatabase } from '../../../src/database/open-database.ts'
import { OutcomeCounter } from '../../../src/http/metrics/outcome-counter.ts'
import { loadPepper, type Pepper } from '../../../src/secrets/secrets.ts'
import { EFFECTS } from '../../../src/service/effects.ts'

/** An agent with two keys and a pending recovery, in a SQLite file. */
export interface Setup {
  readonly db: Database
  readonly pepper: Pepper
  readonly deps: KeyOperationDeps
}

export type OperationName =
  | ('rotate' | 'contest' | 'redeem' | 'complete')
  | ('renounce' | 'finish' | 'report' | 'end' | 'leave' | 'move')

const TAIL = '1'.repeat(24) as Tail
const NOW = 1_800_000_000_000
const TOKEN = `svc-recover-${'0'.repeat(32)}`
const SIGNATURE = `${'A'.repeat(86)}==`
const issuedAt = NOW / 1000
const key = (number: number) => Buffer.alloc(32, number)
const encoded = (number: number) => encodeBase64(key(number))

export async function open(file: string): Promise<Setup> {
  const db = await openDatabase({ kind: 'sqlite', file }, () => NOW, EFFECTS)
  const naming = namingFor()
  const ed25519 = { verify: async () => true } as unknown as KeyOperationDeps['ed25519']
  const readModel = { hasSeenKey: () => true } as unknown as KeyOperationDeps['readModel']
  const settings = { keyReuse: 'owner', recoveryDelayMs: 1 } as const
  const site = siteOf(naming, new URL('https://id.example'))
  return {
    db,
    pepper: loadPepper({ keysDir: dirname(file), dataDir: dirname(file) }),
    deps: { db, site, now: () => NOW, ed25519, readModel, ...settings },
  }
}

/** Makes the state in which an operation begins. */
export async function prepare({ db, pepper, deps }: Setup, name: OperationName): Promise<void> {
  const { id } = await addOwner(
    { db, pepper, naming: deps.site.naming, now: deps.now },
    { username: 'ada', displayName: 'Ada' },
  )
  await db.write(async (tx) => {
    for (const [tail, label] of [
      [TAIL, 'a'],
      ['2'.repeat(24), 'b'],
    ] as const) {
      const seq = tx.nextSeq()
      const row = { seq, tail, public_key: key(1), agent_id: label, owner_id: id }
      await insertAgent(tx, { ...row, claimed_at: NOW, grade: 'C' })
      const event = { seq, at: NOW, tail, ownerId: id, payload: {} }
      await appendAgentEvent(tx, { ...event, type: 'agent.claimed' })
    }
  })
  await rotateTo(deps, 2)
  if (name === 'move') {
    await allowDelegation(db)
    return acceptTransfer({ db, pepper, deps }, id)
  }
  await db.write((tx) => startRecovery(tx))
  if (name === 'finish' || name === 'report') await renounceWith(deps)
  if (name === 'complete') await redeem(deps)
  if (name === 'end') await allowDelegation(db)
  if (name === 'leave') await addMember(db, id)
}

const MEMBERSHIP = `mb_${'1'.repeat(12)}`

/** A member of the owner, with all that ends with the membership. */
async function addMember(db: Database, org_id: number): Promise<void> {
  await db.write(async (tx) => {
    const created_at = NOW
    const person = { username: 'grace', display_name: 'Grace', username_skeleton: 'grace' }
    const { id: person_id } = await insertOwner(tx, { ...person, created_at })
    const [role, source] = ['manager', 'manual'] as const
    const membership = { id: MEMBERSHIP, org_id, person_id, role, role_since: NOW, source }
    await insertMembership(tx, { ...membership, created_at, ended_at: null, end_reason: null })
    await tx.db.updateTable('agents').set({ responsible: MEMBERSHIP }).execute()
    await tx.db.updateTable('key_recoveries').set({ started_by: MEMBERSHIP }).execute()
    const expires_at = NOW + 1000
    const token = { owner_id: org_id, issued_by: MEMBERSHIP, created_at, expires_at }
    await insertTokens(tx, [hashToken('a'), hashToken('b')], token)
    await insertApiKey(tx, {
      hash: hashToken('key'),
      id: 'key',
      owner_id: org_id,
      name: 'CI',
      scopes: 'agents:read',
      last_four: '0000',
      created_by: MEMBERSHIP,
      created_at,
      expires_at,
      last_used_at: null,
    })
  })
}

/** The agent may delegate, and has a certificate, and one for a group of delegations. */
async function allowDelegation(db: Database): Promise<void> {
  await openEpoch(db)
  await db.write(async (tx) => {
    const change = {
      type: 'agent.delegation_changed',
      maxDepth: 2,
      by: 'owner',
      isSilent: true,
    } as const
    await changeAgent(tx, TAIL, change, NOW)
    const verification = { identityMethod: null, assurance: null }
    const certified = {
      keySequence: 2,
      grade: 'C',
      maxDelegationDepth: 2,
      ...verification,
    } as const
    await allocateEntry(tx, TAIL, certified, NOW)
    const { list, idx } = await allocateEntry(tx, TAIL, certified, NOW, 0)
    const times = { created_at: NOW, expires_at: NOW + 1000, ended_at: null, ended_by: null }
    await insertDelegation(tx, { id: 'group', tail: TAIL, list, idx, label: 'a', ...times })
  })
}

const TRANSFER_ID = `tr_${'1'.repeat(12)}`

/** Another owner has accepted both agents. */
async function acceptTransfer({ db, pepper, deps }: Setup, from_owner: number): Promise<void> {
  const { id: to_owner } = await addOwner(
    { db, pepper, naming: deps.site.naming, now: deps.now },
    { username: 'grace', displayName: 'Grace' },
  )
  await db.write(async (tx) => {
    await insertTransfer(tx, {
      id: TRANSFER_ID,
      from_owner,
      to_owner,
      state: 'accepted',
      started_by: null,
      accepted_by: null,
      failure: null,
      created_at: NOW,
      expires_at: NOW + 1,
      accepted_at: NOW,
      effective_at: NOW,
      ended_at: null,
    })
    await insertAgents(tx, TRANSFER_ID, [TAIL, '2'.repeat(24)])
    await scheduleTransfer(tx, { id: TRANSFER_ID, keyReuse: 'owner' }, NOW)
  })
}

async function startRecovery(tx: Tx): Promise<void> {
  const token = { token_hash: hashToken(TOKEN), token_expires_at: NOW + 1000 }
  await insertRecovery(tx, { tail: TAIL, reason: 'key_lost', started_at: NOW, ...token })
}

async function rotateTo(deps: KeyOperationDeps, number: number): Promise<void> {
  const signatures = { oldSignature: SIGNATURE, newSignature: SIGNATURE }
  await rotate(deps, TAIL, {
    newPublicKey: encoded(number),
    sequence: number,
    issuedAt,
    ...signatures,
  })
}

async function redeem(deps: KeyOperationDeps): Promise<void> {
  const request = { recoveryToken: TOKEN, publicKey: encoded(9), sequence: 3, issuedAt }
  await recover(deps, TAIL, { ...request, signature: SIGNATURE })
}

async function renounceWith(deps: KeyOperationDeps): Promise<void> {
  await renounce(deps, TAIL, { sequence: 2, issuedAt, signature: SIGNATURE })
}

/**
 * Calls back before each statement of this process, from now on.
 * @param call with the number of the statement, counted from 1
 * @returns a function that ends it
 */
export function beforeStatements(call: (number: number) => void): () => void {
  let statements = 0
  const methods: [object, string][] = [
    ...['all', 'get', 'run', 'iterate'].map((method): [object, string] => [
      StatementSync.prototype,
      method,
    ]),
    [DatabaseSync.prototype, 'exec'],
  ]
  const ends = methods.map(([prototype, method]) => {
    const original = Reflect.get(prototype, method) as (...args: unknown[]) => unknown
    Reflect.set(prototype, method, function (this: unknown, ...args: unknown[]) {
      statements += 1
      call(statements)
      return original.apply(this, args)
    })
    return () => Reflect.set(prototype, method, original)
  })
  return () => {
    for (const end of ends) end()
  }
}

export async function operate({ db, deps }: Setup, name: OperationName): Promise<void> {
  if (name === 'rotate') return rotateTo(deps, 3)
  if (name === 'redeem') return redeem(deps)
  if (name === 'complete') return db.write((tx) => completeRecovery(tx, TAIL, 'owner', NOW + 1))
  if (name === 'renounce') return renounceWith(deps)
  if (name === 'leave') {
    await db.write((tx) => endMembership(tx, MEMBERSHIP, 'removed', NOW))
    return
  }
  if (name === 'move') {
    const job = (await jobById(db.read, transferJobOf(TRANSFER_ID))) as JobRow
    return db.write(async (tx) => {
      if (await takeJob(tx, job)) await continueTransfer(tx, job, NOW)
    })
  }
  if (name === 'finish') {
    const job = await db.read
      .selectFrom('jobs')
      .selectAll()
      .where('kind', '=', REVOKE_RENOUNCED)
      .executeTakeFirstOrThrow()
    return db.write(async (tx) => {
      if (await takeJob(tx, job)) await revokeRenounced(tx, job, job.run_at)
    })
  }
  if (name === 'report') {
    await reportByKey(deps, TAIL, { sequence: 2, issuedAt, signature: SIGNATURE })
    return
  }
  if (name === 'end') {
    const metrics = { delegationsEnded: new OutcomeCounter([]) }
    await endDelegations({ ...deps, metrics }, TAIL, {
      sequence: 2,
      issuedAt,
      signature: SIGNATURE,
    })
    return
  }
  const agent = await agentByTail(db.read, TAIL)
  const request = { sequence: 1, reason: 'key_compromised' } as const
  await contest({ ...deps, randomBytes } as never, agent?.owner_id ?? 0, TAIL, request)
}

/** Everything that an operation can change, without random values. */
export async function stateOf({ db }: Setup): Promise<string> {
  const agents = await db.read.selectFrom('agents').selectAll().orderBy('seq').execute()
  const keys = await Promise.all(agents.map((agent) => keysOfAgent(db.read, agent)))
  const tables = [
    await db.read.selectFrom('key_recoveries').selectAll().execute(),
    await db.read.selectFrom('delegations').select(['id', 'ended_at', 'ended_by']).execute(),
    await db.read.selectFrom('transfers').selectAll().execute(),
    await db.read.selectFrom('transfer_agents').selectAll().orderBy('tail').execute(),
    await db.read.selectFrom('jobs').selectAll().orderBy('id').execute(),
    await db.read.selectFrom('events').selectAll().orderBy('seq').execute(),
    await db.read.selectFrom('status_entries').selectAll().orderBy('changed_seq').execute(),
    await db.read.selectFrom('feed_changes').selectAll().orderBy('n').execute(),
    await db.read.selectFrom('notifications').select('kind').execute(),
    await db.read.selectFrom('memberships').selectAll().execute(),
    await db.read.selectFrom('claim_tokens').selectAll().orderBy('position').execute(),
    await db.read.selectFrom('api_keys').select('id').execute(),
    await db.read.selectFrom('account_activity').select('type').execute(),
  ]
  return JSON.stringify([agents, keys, ...tables])
}
