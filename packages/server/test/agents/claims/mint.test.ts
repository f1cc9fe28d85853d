import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { CodedError } from '@countersign/protocol'
import fc from 'fast-check'
import { insertAgent } from '../../../../../test/support/insert-agent.ts'
import { type Operator, openOperator, testEnv } from '../../../../../test/support/service.ts'
import {
  type DecodedClaim,
  insertMinted,
  insertTokens,
  type NewAgent,
} from '../../../src/agents/claims/claim-table.ts'
import { mint } from '../../../src/agents/claims/mint.ts'
import { insertSuspendedKey } from '../../../src/agents/keys/key-table.ts'
import { readSettings } from '../../../src/base/config.ts'
import type { Batch, Outcome } from '../../../src/database/database.ts'

/** One per token, since an owner has at most one live token. */
const OWNERS = 8
const NOW = 1_800_000_000_000

/** Indexes of a token, a key and a label: few of each, so that claims collide. */
const claimed = fc.record({ token: fc.nat(8), key: fc.nat(3), label: fc.nat(2) })
type Claimed = typeof claimed extends fc.Arbitrary<infer T> ? T : never

async function openData(t: TestContext): Promise<Operator> {
  const operator = await openOperator(readSettings(await testEnv(t)))
  t.after(() => operator.close())
  for (let i = 0; i < OWNERS; i++) {
    await operator.addVerifiedOwner(`holder-of-${i}-tokens`, i === 0 ? 'high' : 'low')
  }
  return operator
}

function bytes(round: number, what: string, number: number): Buffer {
  return createHash('sha256').update(`${round} ${what} ${number}`).digest()
}

/** Issues tokens: 0 to 5 are valid, 6 is used, 7 is expired, 8 does not exist. */
async function issueTokens({ db }: Operator, round: number): Promise<void> {
  await db.write(async (tx) => {
    for (let token = 0; token < OWNERS; token++) {
      const row = {
        hash: bytes(round, 'token', token),
        owner_id: token + 1,
        created_at: NOW,
      }
      const expires_at = token === 7 ? NOW : NOW + 1000
      const used_at = token === 6 ? NOW - 1 : null
      await tx.db
        .insertInto('claim_tokens')
        .values({
          ...row,
          expires_at,
          used_at,
          superseded_at: null,
          issued_by: '',
          // Each owner has one token a round that is not used.
          position: round,
        })
        .execute()
    }
  })
}

for (const keyReuse of ['owner', 'any'] as const) {
  test(`many claims in one transaction have the same outcomes as one after another (KEY_REUSE=${keyReuse})`, async (t) => {
    const [single, together] = [await openData(t), await openData(t)]
    const { naming } = readSettings({})
    const deps = { naming, keyReuse, log: null, now: () => NOW, randomBytes }
    const batch: Batch<DecodedClaim, string> = (tx, claims) => {
      largest = Math.max(largest, claims.length)
      // If this throws, the claims are retried one by one, which would hide the failure from the test.
      return mint(deps, tx, claims).catch((error) => {
        failures.push(error)
        throw error
      })
    }
    let round = 0
    let largest = 0
    const failures: unknown[] = []
    const ends = new Set<string>()
    await fc.assert(
      fc.asyncProperty(fc.array(claimed, { minLength: 2, maxLength: 20 }), async (all) => {
        round += 1
        for (const operator of [single, together]) {
          await operator.db.write((tx) =>
            tx.db
              .updateTable('claim_tokens')
              .set({ superseded_at: 0 })
              .where('used_at', 'is', null)
              .execute(),
          )
          await issueTokens(operator, round)
        }
        const claims = all.map(({ token, key, label }: Claimed) => ({
          tokenHash: bytes(round, 'token', token),
          // The same keys in three rounds, so that some already have certificates.
          publicKey: bytes(Math.floor(round / 3), 'key', key),
          agentId: `label ${label}`,
          signature: Buffer.alloc(64),
        }))
        const one: Outcome<string>[] = []
        for (const claim of claims) {
          one.push(await outcomeOf(single.db.writeBatched(batch, claim)))
        }
        const many = await Promise.all(
          claims.map((claim) => outcomeOf(together.db.writeBatched(batch, claim))),
        )
        assert.deepEqual(many.map(nameOf), one.map(nameOf))
        assert.deepEqual(await rowsOf(together), await rowsOf(single))
        for (const outcome of many) ends.add(nameOf(outcome).split(':')[0] as string)
      }),
      { numRuns: 60 },
    )
    assert.deepEqual(failures, [])
    assert.ok(largest > 10)
    assert.deepEqual([...ends].toSorted(), [
      'KEY_ALREADY_CLAIMED',
      'NOT_FOUND',
      'TOKEN_EXPIRED',
      'minted',
    ])
  })
}

/** By kind: who holds a key or has replaced it. Kinds that are not listed are keys that nobody has used. */
const PAST = [
  { kind: 1, owner: 1, label: 'label 0' },
  { kind: 2, owner: 2, label: 'label 1' },
  { kind: 3, owner: 1, label: 'label 0', replaced: { state: 'retired', hoursAgo: 1 } },
  { kind: 4, owner: 1, label: 'label 0', replaced: { state: 'retired', hoursAgo: 73 } },
  { kind: 5, owner: 2, label: 'label 1', replaced: { state: 'retired', hoursAgo: 1 } },
  { kind: 6, owner: 1, label: 'label 0', replaced: { state: 'compromised', hoursAgo: 1 } },
] as const
const SUSPENDED = 7

/** Inserts 32 tokens of each of two owners, and agents that hold or held keys. */
async function issueManyTokens({ db }: Operator): Promise<void> {
  await db.write(async (tx) => {
    for (const owner of [1, 2]) {
      const hashes = Array.from({ length: 32 }, (_, i) => bytes(owner, 'token', i))
      await insertTokens(tx, hashes, { owner_id: owner, created_at: NOW, expires_at: NOW + 1000 })
    }
    for (const { kind, owner, label, ...past } of PAST) {
      const key = bytes(0, 'key', kind)
      const tail = `tail ${kind}`
      const isReplaced = 'replaced' in past
      await insertAgent(tx, {
        seq: 1000 + kind,
        tail,
        public_key: isReplaced ? bytes(0, 'new key', kind) : key,
        agent_id: label,
        owner_id: owner,
        claimed_at: 1,
        grade: 'C',
      })
      if (!isReplaced) continue
      const { state, hoursAgo } = past.replaced
      const former = { tail, sequence: 1, public_key: key, state, valid_from: 1, changed_by: null }
      const valid_until = NOW - hoursAgo * 3_600_000
      await tx.db
        .insertInto('agent_keys')
        .values({ ...former, valid_until })
        .execute()
    }
    const public_key = bytes(0, 'key', SUSPENDED)
    await insertSuspendedKey(tx, { public_key, reason: null, suspended_at: 1 })
  })
}

for (const { keyReuse, outcomes } of [
  { keyReuse: 'owner', outcomes: 7 },
  { keyReuse: 'any', outcomes: 5 },
] as const) {
  test(`64 claims of keys that are held, replaced, burned and suspended: together as one after another (KEY_REUSE=${keyReuse})`, async (t) => {
    const [single, together] = [await openData(t), await openData(t)]
    await issueManyTokens(single)
    await issueManyTokens(together)
    const { naming } = readSettings({})
    const deps = { naming, keyReuse, log: null, now: () => NOW, randomBytes }
    const claims = Array.from({ length: 64 }, (_, i) => ({
      // Each kind of key, for two owners, under two labels, twice.
      tokenHash: bytes(1 + (i % 2), 'token', Math.floor(i / 2)),
      publicKey: bytes(0, 'key', Math.floor(i / 4) % 8),
      agentId: `label ${Math.floor(i / 2) % 2}`,
      signature: Buffer.alloc(64),
    }))
    const one: Outcome<string>[] = []
    for (const claim of claims) {
      one.push(...(await single.db.write((tx) => mint(deps, tx, [claim]))))
    }
    const many = await together.db.write((tx) => mint(deps, tx, claims))
    assert.deepEqual(many.map(nameOf), one.map(nameOf))
    assert.deepEqual(await rowsOf(together), await rowsOf(single))
    assert.equal(new Set(many.map(nameOf)).size, outcomes, 'minted and each refusal of a claim')
  })
}

test('the database rejects a used token and a taken pair, independently of what was read before', async (t) => {
  const { db } = await openData(t)
  await issueTokens({ db } as Operator, 1)
  const agent = (seq: number, label: string): NewAgent => ({
    seq,
    tail: `tail ${seq}`,
    public_key: bytes(1, 'key', 1),
    key_thumbprint: bytes(1, 'thumbprint', 1),
    agent_id: label,
    owner_id: 1,
    claimed_at: NOW,
    grade: 'C',
    responsible: null,
  })
  const insert = (tokens: readonly number[], agents: readonly NewAgent[]) => {
    const tokenHashes = tokens.map((token) => bytes(1, 'token', token))
    return db.write((tx) => insertMinted(tx, { tokenHashes, agents, events: [], queued: [] }, NOW))
  }
  await insert([0], [agent(100, 'a')])
  await assert.rejects(insert([1, 0], [agent(101, 'b')]), /could not be redeemed/)
  await assert.rejects(insert([7], [agent(102, 'c')]), /could not be redeemed/)
  await assert.rejects(insert([1], [agent(103, 'a')]), /unique/i)
  const { agents, tokens } = (await rowsOf({ db } as Operator)) as Record<string, unknown[]>
  assert.equal(agents?.length, 1)
  const used = (tokens as { used_at: number | null }[]).filter(({ used_at }) => used_at === NOW)
  assert.equal(used.length, 1, 'rejected claims redeem no token')
})

function outcomeOf(write: Promise<string>): Promise<Outcome<string>> {
  return write.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
}

function nameOf(outcome: Outcome<string>): string {
  if ('value' in outcome) return 'minted'
  if (!(outcome.error instanceof CodedError)) throw outcome.error
  return `${outcome.error.code}: ${outcome.error.message}`
}

/** All rows except the tails, which are random. */
async function rowsOf({ db }: Operator): Promise<unknown> {
  const agents = await db.read.selectFrom('agents').selectAll().orderBy('seq').execute()
  const events = await db.read
    .selectFrom('events')
    .select(['seq', 'type', 'owner_id', 'payload'])
    .orderBy('seq')
    .execute()
  const tokens = await db.read.selectFrom('claim_tokens').selectAll().orderBy('hash').execute()
  return { agents: agents.map(({ tail: _random, ...agent }) => agent), events, tokens }
}
