import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import {
  CodedError,
  didOf,
  encodeBase64,
  namingFor,
  RECOVERY_TOKEN_LIFETIME_MS,
  randomTail,
  type Tail,
} from '@countersign/protocol'
import { insertAgent } from '../../../../../test/support/insert-agent.ts'
import type { Session } from '../../../src/accounts/owners/session.ts'
import { agentByTail } from '../../../src/agents/agent-table.ts'
import { insertTokens, supersedeTokens } from '../../../src/agents/claims/claim-table.ts'
import { mint } from '../../../src/agents/claims/mint.ts'
import { completeRecovery } from '../../../src/agents/keys/complete-recovery.ts'
import { contest } from '../../../src/agents/keys/contest.ts'
import { keysOfAgent, recoveryOf } from '../../../src/agents/keys/key-table.ts'
import { recover, vetoRecovery } from '../../../src/agents/keys/recover.ts'
import { REVOKE_RENOUNCED, renounce, revokeRenounced } from '../../../src/agents/keys/renounce.ts'
import {
  reportByKey,
  reportByOperator,
  reportByOwner,
} from '../../../src/agents/keys/report-key.ts'
import { rotate } from '../../../src/agents/keys/rotate.ts'
import type { KeyOperationDeps } from '../../../src/agents/keys/signed-operation.ts'
import {
  cancelRecovery,
  reissueToken,
  startRecovery,
} from '../../../src/agents/keys/start-recovery.ts'
import { changeStatus } from '../../../src/agents/manage/change-status.ts'
import { siteOf } from '../../../src/base/site.ts'
import type { Database } from '../../../src/database/database.ts'
import { appendAgentEvent } from '../../../src/database/event-table.ts'
import { takeJob } from '../../../src/database/jobs/job-table.ts'
import { current, DELAY, KeyModel, type Operation, TOKEN_LIFETIME } from './key-model.ts'

const START = 1_800_000_000_000
const KEYS = 6
const LABELS = ['a', 'b']
const naming = namingFor()
const site = siteOf(naming, new URL('https://id.example'))
const SIGNATURE = `${'A'.repeat(86)}==`

/** Two owners, whom all sequences share. Their agents and keys differ from sequence to sequence. */
export interface ModelWorld {
  readonly db: Database
  readonly sessions: readonly [Session, Session]
}

/** A deterministic source of numbers below a bound. */
function numbersOf(seed: number): (bound: number) => number {
  let state = seed
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

function nextOperation(next: (bound: number) => number, model: KeyModel): Operation {
  const { agents } = model.state
  const agent = next(agents.length)
  const key = next(KEYS)
  const reason = next(2) === 0 ? 'key_compromised' : 'key_lost'
  const isClaim = agents.length < 5 && next(12) === 0
  if (isClaim) return { op: 'claim', owner: next(2), key, label: LABELS[next(2)] as string }
  const guided = next(2) === 0 ? recoveryStep(next, model) : null
  if (guided !== null) return guided
  const sequence = Math.max(1, (agents[agent]?.keys.length ?? 1) - next(3))
  const contested = reason === 'key_compromised' ? reason : 'mistake'
  const choices: readonly Operation[] = [
    { op: 'rotate', agent, key },
    { op: 'rotate', agent, key: (key + 1) % KEYS },
    { op: 'contest', agent, sequence, reason: contested },
    { op: 'start', agent, reason },
    { op: 'redeem', agent, key },
    { op: 'redeem', agent, key: (key + 1) % KEYS },
    { op: 'reissue', agent },
    { op: 'veto', agent },
    { op: 'cancel', agent },
    { op: 'complete', agent },
    { op: 'complete', agent },
    { op: 'suspend', agent },
    { op: 'reactivate', agent },
    { op: 'operator-suspend', agent },
    { op: 'operator-reactivate', agent },
    { op: 'wait', hours: [0.1, 0.2, 24, 73][next(4)] as number },
    { op: 'wait', hours: 73 },
    { op: 'finish', agent },
    {
      op: 'report',
      agent,
      sequence,
      by: (['key', 'owner', 'operator'] as const)[next(3)] ?? 'key',
    },
    next(2) === 0 ? { op: 'renounce', agent } : { op: 'veto', agent },
    { op: 'revoke', agent, reason: next(2) === 0 ? null : reason },
  ]
  return choices[next(choices.length)] as Operation
}

/** The next step of a pending recovery, which chance alone would rarely complete. */
function recoveryStep(next: (bound: number) => number, model: KeyModel): Operation | null {
  const agent = model.state.agents.findIndex(({ recovery }) => recovery !== null)
  const recovery = model.state.agents[agent]?.recovery
  if (recovery == null) return null
  if (!recovery.used) return { op: next(4) === 0 ? 'reissue' : 'redeem', agent, key: next(KEYS) }
  if (recovery.effectiveAt <= model.now) return { op: 'complete', agent }
  return next(4) === 0 ? { op: 'veto', agent } : { op: 'wait', hours: 73 }
}

/**
 * Runs a sequence of operations on the database and on the model.
 * @throws AssertionError if an outcome, or what is stored in the end, differs. Its message has the sequence
 * @returns the outcomes that occurred
 */
export async function compareWithModel(world: ModelWorld, seed: number): Promise<string[]> {
  const next = numbersOf(seed)
  const model = new KeyModel(START)
  const run = new Run(world, seed, () => model.now)
  const log: string[] = []
  await run.add(model, 0, 'a', 0)
  await run.add(model, 0, 'b', next(2))
  await run.add(model, 1, 'a', 2)
  const count = 4 + next(10)
  const outcomes: string[] = []
  for (let i = 0; i < count; i++) {
    const operation = nextOperation(next, model)
    const real = await run.apply(operation, model)
    const before = keysIn(model)
    const revoked = revokedIn(model)
    const expected = model.apply(operation)
    log.push(`${JSON.stringify(operation)} ${expected}`)
    assert.equal(real, expected, `seed ${seed}:\n${log.join('\n')}`)
    const isReplaced = operation.op === 'complete' && keysIn(model) > before
    const isRevoked = operation.op === 'finish' && revokedIn(model) > revoked
    const effect = isReplaced ? 'replaced' : isRevoked ? 'revoked' : expected
    outcomes.push(`${operation.op} ${effect}`)
  }
  assert.deepEqual(await run.stored(), storedIn(model), `seed ${seed}:\n${log.join('\n')}`)
  return outcomes
}

function keysIn({ state }: KeyModel): number {
  return state.agents.reduce((sum, { keys }) => sum + keys.length, 0)
}

function revokedIn({ state }: KeyModel): number {
  return state.agents.filter(({ status }) => status === 'revoked').length
}

function storedIn({ state }: KeyModel): unknown[] {
  for (const agent of state.agents) {
    // An active agent always has a valid current key.
    if (agent.status === 'active') assert.equal(current(agent).state, 'current')
  }
  return state.agents.map(({ status, by, reason, keys, recovery, finalAt }) => ({
    finalAt,
    status,
    by,
    reason,
    keys: keys.map((each) => [each.key, each.state, each.by]),
    recovery: recovery && [recovery.reason, recovery.key],
  }))
}

class Run {
  readonly #world: ModelWorld
  readonly #seed: number
  readonly #now: () => number
  readonly #deps: KeyOperationDeps
  readonly #tails: Tail[] = []
  readonly #tokens = new Map<number, string>()

  constructor(world: ModelWorld, seed: number, now: () => number) {
    this.#world = world
    this.#seed = seed
    this.#now = now
    const { db } = world
    // The rules are tested here, not the signatures.
    const ed25519 = { verify: async () => true } as unknown as KeyOperationDeps['ed25519']
    const readModel = { hasSeenKey: () => true } as unknown as KeyOperationDeps['readModel']
    const settings = { keyReuse: 'owner', recoveryDelayMs: DELAY } as const
    this.#deps = { db, site, now, ed25519, readModel, ...settings }
    assert.equal(TOKEN_LIFETIME, RECOVERY_TOKEN_LIFETIME_MS)
  }

  async add(model: KeyModel, owner: number, label: string, key: number): Promise<void> {
    model.add(owner, label, key)
    const tail = randomTail(randomBytes)
    this.#tails.push(tail)
    await this.#world.db.write(async (tx) => {
      const [seq, at, owner_id] = [tx.nextSeq(), this.#now(), this.#session(owner).ownerId]
      const row = { seq, tail, public_key: this.#key(key), agent_id: label, owner_id }
      await insertAgent(tx, { ...row, claimed_at: at, grade: 'C' })
      const event = { seq, at, tail, ownerId: owner_id, payload: {} }
      await appendAgentEvent(tx, { ...event, type: 'agent.claimed' })
    })
  }

  async apply(operation: Operation, model: KeyModel): Promise<string> {
    try {
      await this.#apply(operation, model)
      return 'ok'
    } catch (error) {
      if (error instanceof CodedError) return error.code
      throw error
    }
  }

  async #apply(each: Operation, model: KeyModel): Promise<unknown> {
    if (each.op === 'wait') return
    if (each.op === 'claim') return this.#claim(each.owner, each.label, each.key)
    const deps = { ...this.#deps, randomBytes }
    const { owner, keys } = model.state.agents[each.agent] as (typeof model.state.agents)[number]
    const tail = this.#tails[each.agent] as Tail
    const session = this.#session(owner)
    const signed = { issuedAt: Math.floor(this.#now() / 1000), signature: SIGNATURE }
    const [sequence, following] = [keys.length, keys.length + 1]
    const status = (
      to: 'active' | 'suspended' | 'revoked',
      by: 'owner' | 'operator',
      reason: string | null = null,
    ) => changeStatus(deps, { tail, to, by, reason })
    switch (each.op) {
      case 'rotate': {
        const signatures = { oldSignature: SIGNATURE, newSignature: SIGNATURE }
        const request = { sequence: following, issuedAt: signed.issuedAt, ...signatures }
        return rotate(deps, tail, { newPublicKey: this.#encoded(each.key), ...request })
      }
      case 'contest':
        return contest(deps, session.ownerId, tail, each)
      case 'start':
        return this.#keepToken(each.agent, startRecovery(deps, session, tail, each.reason))
      case 'reissue':
        return this.#keepToken(each.agent, reissueToken(deps, session, tail))
      case 'redeem': {
        const recoveryToken = this.#tokens.get(each.agent) ?? `svc-recover-${'0'.repeat(32)}`
        const request = { recoveryToken, publicKey: this.#encoded(each.key), sequence: following }
        return recover(deps, tail, { ...request, ...signed })
      }
      case 'veto':
        return vetoRecovery(deps, tail, { sequence, ...signed })
      case 'cancel':
        return cancelRecovery(deps, session.ownerId, tail)
      case 'complete':
        return this.#complete(tail)
      case 'renounce':
        return renounce(deps, tail, { sequence, ...signed })
      case 'finish':
        return this.#finish(tail)
      case 'report': {
        if (each.by === 'owner') return reportByOwner(deps, session.ownerId, tail, each.sequence)
        if (each.by === 'operator') return reportByOperator(deps, tail, each.sequence)
        return reportByKey(deps, tail, { sequence: each.sequence, ...signed })
      }
      case 'revoke':
        return status('revoked', 'owner', each.reason)
      case 'suspend':
        return status('suspended', 'owner')
      case 'reactivate':
        return status('active', 'owner')
      case 'operator-suspend':
        return status('suspended', 'operator')
      case 'operator-reactivate':
        return status('active', 'operator')
    }
  }

  /** What the job does, if it is due: the job itself would run in the order of all sequences. */
  async #complete(tail: Tail): Promise<void> {
    await this.#world.db.write(async (tx) => {
      const recovery = await recoveryOf(tx.db, tail)
      if ((recovery?.effective_at ?? Number.POSITIVE_INFINITY) > this.#now()) return
      await completeRecovery(tx, tail, 'owner', this.#now())
    })
  }

  /** What the job does, if it is due. */
  async #finish(tail: Tail): Promise<void> {
    await this.#world.db.write(async (tx) => {
      const id = `${REVOKE_RENOUNCED}:${tail}`
      const job = await tx.db
        .selectFrom('jobs')
        .selectAll()
        .where('id', '=', id)
        .where('run_at', '<=', this.#now())
        .executeTakeFirst()
      if (job === undefined) return
      await takeJob(tx, job)
      await revokeRenounced(tx, job, this.#now())
    })
  }

  async #claim(owner: number, agentId: string, key: number): Promise<void> {
    const { ownerId } = this.#session(owner)
    const [hash, at] = [randomBytes(32), this.#now()]
    const signature = Buffer.alloc(64)
    const claim = { tokenHash: hash, publicKey: this.#key(key), agentId, signature }
    const deps = { naming, keyReuse: 'owner', log: null, now: this.#now, randomBytes } as const
    const outcome = await this.#world.db.write(async (tx) => {
      await supersedeTokens(tx, ownerId, at)
      const times = { created_at: at, expires_at: at + 1000 }
      await insertTokens(tx, [hash], { owner_id: ownerId, ...times })
      return (await mint(deps, tx, [claim]))[0]
    })
    if (outcome === undefined || 'error' in outcome) throw outcome?.error
    this.#tails.push(outcome.value.slice(-24) as Tail)
    assert.equal(outcome.value, didOf(naming, this.#tails.at(-1) as Tail))
  }

  async #keepToken(agent: number, issued: Promise<{ recoveryToken: string }>): Promise<void> {
    this.#tokens.set(agent, (await issued).recoveryToken)
  }

  async stored(): Promise<unknown[]> {
    const { read } = this.#world.db
    const stored: unknown[] = []
    for (const tail of this.#tails) {
      const agent = await agentByTail(read, tail)
      assert.ok(agent)
      const keys = await keysOfAgent(read, agent)
      const recovery = await recoveryOf(read, tail)
      const newKey = recovery?.new_key ?? null
      stored.push({
        finalAt: agent.renounce_final_at,
        status: agent.status,
        by: agent.status_set_by,
        reason: agent.status_reason,
        keys: keys.map((each) => [this.#number(each.public_key), each.state, each.changed_by]),
        recovery:
          recovery === undefined
            ? null
            : [recovery.reason, newKey === null ? null : this.#number(newKey)],
      })
      for (const [i, { sequence }] of keys.entries()) assert.equal(sequence, i + 1)
    }
    return stored
  }

  #session(owner: number): Session {
    const session = this.#world.sessions[owner as 0 | 1]
    return { ...session, signedInAt: this.#now() }
  }

  #key(number: number): Buffer {
    return createHash('sha256').update(`${this.#seed} ${number}`).digest()
  }

  #encoded(number: number): string {
    return encodeBase64(this.#key(number))
  }

  #number(key: Uint8Array): number {
    return Array.from({ length: KEYS }, (_, i) => i).findIndex((i) => this.#key(i).equals(key))
  }
}
