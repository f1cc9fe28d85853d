import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { encodeBase64 } from '@countersign/protocol'
import { openOperator, tempDir, testEnv } from '../../../../test/support/service.ts'
import { issueToken } from '../../src/agents/claims/issue-token.ts'
import { mintBatch } from '../../src/agents/claims/mint.ts'
import { readSettings } from '../../src/base/config.ts'
import { hashToken } from '../../src/base/hash-token.ts'
import type { LogJoinRow } from '../../src/database/schema/log-rows.ts'
import { acceptHead } from '../../src/log/accept.ts'
import { ANCHOR_FILE, LogAnchor } from '../../src/log/anchor.ts'
import { joinMessage } from '../../src/log/join.ts'
import { currentEpoch, updateEpoch } from '../../src/log/log-table.ts'
import { openServiceKey } from '../../src/secrets/service-keys.ts'
import { type LogNode, openNode, restoreLog, saveLog } from './support.ts'

/** A log of one entry that an anchored node has signed, and what a test does with it. */
async function open(t: TestContext) {
  const clock = { at: Date.now() }
  const now = () => clock.at
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings, now)
  t.after(() => operator.close())
  const { db } = operator
  const { naming } = settings
  const owner = await operator.addVerifiedOwner()
  const claim = async () => {
    const { claimToken } = await issueToken({ db, naming, now, randomBytes }, owner)
    const made = { publicKey: randomBytes(32), agentId: 'main', signature: randomBytes(64) }
    const deps = { naming, keyReuse: 'owner', log: null, now, randomBytes } as const
    const claimed = { tokenHash: hashToken(claimToken), ...made }
    await db.writeBatched(mintBatch, { deps, claim: claimed })
  }
  await claim()
  const node = await openNode(settings, db, { now })
  await node.run()
  return { db, settings, naming, clock, now, claim, node }
}

type World = Awaited<ReturnType<typeof open>>

async function newNode(t: TestContext, { settings, db, now }: World) {
  const dataDir = tempDir(t)
  const key = await openServiceKey({ db, folders: settings }, 'log')
  const node = await openNode(settings, db, { dataDir, now, key })
  return { ...node, dataDir }
}

const joins = ({ db }: World): Promise<LogJoinRow[]> =>
  db.read.selectFrom('log_joins').selectAll().orderBy('at').execute()

async function answer({ db }: World, nonce: string, value: object | string): Promise<void> {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  await db.write(async (tx) => {
    await tx.db.updateTable('log_joins').set({ answer: text }).where('nonce', '=', nonce).execute()
  })
}

async function assertHalted(world: World, node: LogNode, dataDir: string): Promise<void> {
  const before = await currentEpoch(world.db.read)
  await node.run()
  await node.run()
  assert.equal(node.log.halted?.code, 'no-anchor')
  assert.equal(node.log.served, null)
  assert.equal(await node.log.sign(), null)
  assert.ok(!existsSync(join(dataDir, ANCHOR_FILE)))
  assert.deepEqual(await currentEpoch(world.db.read), before)
}

test('a new node joins once an anchored node has answered it, and only then signs', async (t) => {
  const world = await open(t)
  const joining = await newNode(t, world)
  await assertHalted(world, joining, joining.dataDir)
  for (const way of ['log-head', 'log recover --from', 'log accept', 'log new-epoch'])
    assert.ok(joining.log.problem?.includes(way), way)
  await world.node.run()
  await joining.run()
  assert.deepEqual(joining.log.served, world.node.log.served)
  await world.claim()
  await joining.run()
  assert.equal(joining.log.served?.size, 2)
})

test('a database that was rolled back halts new nodes too, whether a node with an anchor is left or not', async (t) => {
  const world = await open(t)
  const backup = await saveLog(world.db)
  await world.claim()
  await world.node.run()
  await restoreLog(world.db, backup)
  const joining = await newNode(t, world)
  await assertHalted(world, joining, joining.dataDir)
  // One node is still anchored: it is halted itself, and does not answer.
  await world.node.run()
  assert.equal(world.node.log.halted?.code, 'behind')
  assert.deepEqual(
    (await joins(world)).map((row) => row.answer),
    [null],
  )
  await assertHalted(world, joining, joining.dataDir)
})

test('a node whose log-head was deleted asks again after a minute, with another nonce, and old questions go away', async (t) => {
  const world = await open(t)
  const { settings, clock } = world
  rmSync(join(settings.dataDir, ANCHOR_FILE))
  await assertHalted(world, world.node, settings.dataDir)
  const [first] = await joins(world)
  clock.at += 61_000
  await assertHalted(world, world.node, settings.dataDir)
  const rows = await joins(world)
  assert.equal(rows.length, 1)
  assert.notEqual(rows[0]?.nonce, first?.nonce)
  assert.match(rows[0]?.nonce ?? '', /^[\w-]{43}$/)
})

test('forged and replayed answers to a join are ignored', async (t) => {
  const world = await open(t)
  const { naming, settings, db, node } = world
  const key = await openServiceKey({ db, folders: settings }, 'log')
  const row = await currentEpoch(db.read)
  assert.ok(row)
  const state = { origin: row.origin, size: row.size, root: row.root }
  const shown = { size: state.size, root: encodeBase64(state.root) }
  const joining = await newNode(t, world)
  await assertHalted(world, joining, joining.dataDir)
  const nonceOf = async () => (await joins(world)).at(-1)?.nonce as string
  const nonce = await nonceOf()
  const stranger = generateKeyPairSync('ed25519').privateKey
  const message = joinMessage(naming, nonce, state)
  const old = encodeBase64(randomBytes(32)).replace(/\W/g, 'x').slice(0, 43)
  const signed = (bytes: Uint8Array) => encodeBase64(key.sign(bytes))
  const forged = {
    'by another key': { ...shown, signature: encodeBase64(sign(null, message, stranger)) },
    'over another nonce': { ...shown, signature: signed(joinMessage(naming, old, state)) },
    'of another log': {
      ...shown,
      signature: signed(joinMessage(naming, nonce, { ...state, origin: 'x/log/1' })),
    },
    'with another size': { ...shown, size: 0, signature: signed(message) },
    'with another root': {
      ...shown,
      root: encodeBase64(randomBytes(32)),
      signature: signed(message),
    },
    // The key of the log has signed it, and anybody can read it.
    'with the signature of a checkpoint': {
      ...shown,
      signature: Buffer.from(row.checkpoint?.split(' ').at(-1)?.trim() ?? '', 'base64')
        .subarray(4)
        .toString('base64'),
    },
    malformed: 'x',
    'without members': {},
  }
  for (const [name, value] of Object.entries(forged)) {
    await answer(world, nonce, value)
    await assertHalted(world, joining, joining.dataDir).catch((error: Error) => {
      throw new Error(`an answer ${name}: ${error.message}`, { cause: error })
    })
  }

  // An answer of before a rollback, in the database that was restored: its nonce is not that of the new process.
  world.clock.at += 61_000
  await joining.run()
  await node.run()
  const replayed = (await joins(world)).at(-1)
  assert.ok(replayed?.answer)
  const restarted = await newNode(t, world)
  await restarted.run()
  await answer(world, await nonceOf(), replayed.answer)
  await assertHalted(world, restarted, restarted.dataDir)
  // The control: for the process that has asked, it is the answer.
  await joining.run()
  assert.equal(joining.log.problem, null)
})

test('an answer whose state the database does not contain gives no anchor', async (t) => {
  const world = await open(t)
  const { naming, settings, db } = world
  const key = await openServiceKey({ db, folders: settings }, 'log')
  const joining = await newNode(t, world)
  await joining.run()
  const { origin = '' } = (await currentEpoch(db.read)) ?? {}
  const nonce = (await joins(world))[0]?.nonce as string
  for (const [size, code] of [
    [2, 'behind'],
    [1, 'other-entries'],
  ] as const) {
    const state = { origin, size, root: randomBytes(32) }
    const signature = encodeBase64(key.sign(joinMessage(naming, nonce, state)))
    await answer(world, nonce, { size, root: encodeBase64(state.root), signature })
    await joining.run()
    assert.equal(joining.log.halted?.code, code)
    assert.ok(!existsSync(join(joining.dataDir, ANCHOR_FILE)))
  }
})

test('an operator accepts a state only if the database contains it, and never what the machine knows to be lost', async (t) => {
  const world = await open(t)
  const { db, settings } = world
  const first = await currentEpoch(db.read)
  assert.ok(first)
  const backup = await saveLog(db)
  await world.claim()
  await world.node.run()
  const dataDir = tempDir(t)
  const accept = (...[accepted]: [Parameters<typeof acceptHead>[1]]) =>
    acceptHead({ db, dataDir }, accepted)
  const refused = { code: 'VALIDATION_ERROR' }
  await assert.rejects(accept({ size: 3, root: randomBytes(32) }), refused)
  await assert.rejects(accept({ size: 1, root: randomBytes(32) }), refused)
  await assert.rejects(accept({ forkOf: 'other.example/log/1' }), refused)
  assert.equal(new LogAnchor(dataDir).read(), null)
  const { size, root } = first
  for (let i = 0; i < 2; i++) assert.equal((await accept({ size, root })).size, 1)
  assert.equal((await accept({ forkOf: first.origin })).size, 2)
  assert.equal((await accept({ size, root })).size, 2, 'an anchor never goes back')

  await restoreLog(db, backup)
  for (const accepted of [{ size, root }, { forkOf: first.origin }]) {
    await assert.rejects(accept(accepted), /has 1 entries of the log, but 2 were signed/)
    await assert.rejects(acceptHead({ db, dataDir: settings.dataDir }, accepted), refused)
  }
  assert.equal(new LogAnchor(dataDir).read()?.size, 2)
})

test('log-head of an earlier epoch is replaced by the answer of a node that has the current one', async (t) => {
  const world = await open(t)
  const { db } = world
  const joining = await newNode(t, world)
  const { origin = '', size = 0, root = new Uint8Array() } = (await currentEpoch(db.read)) ?? {}
  new LogAnchor(joining.dataDir).compareAndSwap(null, {
    origin: `${origin}0`,
    size: 7,
    root: randomBytes(32),
  })
  await joining.run()
  assert.equal(joining.log.halted?.code, 'no-anchor')
  assert.match(joining.log.problem ?? '', /log-head in DATA_DIR is of the log/)
  await world.node.run()
  await joining.run()
  assert.equal(joining.log.problem, null)
  assert.deepEqual(new LogAnchor(joining.dataDir).read(), {
    origin,
    size,
    root: Uint8Array.from(root),
  })
  // Without a checkpoint there is nothing that a second history could contradict.
  await db.write((tx) => updateEpoch(tx, 1, { checkpoint: null, published_size: 0 }))
  rmSync(join(joining.dataDir, ANCHOR_FILE))
  await joining.run()
  assert.equal(joining.log.problem, null)
})
