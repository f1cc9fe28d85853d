import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { openOperator, tempDir, testEnv } from '../../../../test/support/service.ts'
import type { DecodedClaim } from '../../src/agents/claims/claim-table.ts'
import { issueTokens } from '../../src/agents/claims/issue-token.ts'
import { mint, mintBatch } from '../../src/agents/claims/mint.ts'
import { readSettings } from '../../src/base/config.ts'
import { hashToken } from '../../src/base/hash-token.ts'
import { currentEpoch } from '../../src/log/log-table.ts'
import { verifyStored } from '../../src/log/verify-stored.ts'
import { type LogNode, openNode, restoreLog, saveLog } from './support.ts'

async function open(t: TestContext) {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const { db } = operator
  const owner = await operator.addVerifiedOwner()
  const { naming } = settings
  const newClaims = async (count: number): Promise<DecodedClaim[]> => {
    const deps = { db, naming, now: Date.now, randomBytes }
    const { claimTokens } = await issueTokens(deps, owner, count)
    return claimTokens.map((token) => {
      const made = { publicKey: randomBytes(32), agentId: 'main', signature: randomBytes(64) }
      return { tokenHash: hashToken(token), ...made }
    })
  }
  const depsOf = ({ log }: LogNode) =>
    ({ naming, keyReuse: 'owner', log: log.claims, now: Date.now, randomBytes }) as const
  return {
    settings,
    db,
    newClaims,
    depsOf,
    async claim(node: LogNode) {
      await this.claimMany(node, 1)
    },
    /** In one transaction. */
    async claimMany(node: LogNode, count: number) {
      const items = (await newClaims(count)).map((claim) => ({ deps: depsOf(node), claim }))
      await Promise.all(items.map((item) => db.writeBatched(mintBatch, item)))
    },
    /** The entries of the log, and the changes that wait for their place. */
    async counts() {
      const queued = await db.read.selectFrom('log_queue').select('seq').execute()
      return [(await currentEpoch(db.read))?.size, queued.length]
    },
  }
}

test('a claim is in the log at once, under the next checkpoint, and only once this process has compared the log', async (t) => {
  const world = await open(t)
  const node = await openNode(world.settings, world.db)
  await world.claim(node)
  await node.run()
  assert.deepEqual(await world.counts(), [1, 0])
  // The first step has added what was there before. The next one compares.
  await world.claim(node)
  assert.deepEqual(await world.counts(), [1, 1])
  await node.run()
  // Across the end of a tile.
  for (let i = 0; i < 3; i++) await world.claimMany(node, 90)
  await world.claim(node)
  assert.deepEqual(await world.counts(), [273, 0])
  await node.run()
  assert.equal(node.log.served?.size, 273)
  assert.equal(await verifyStored(world.db.read), null)
})

test('claims of a transaction that is rolled back leave nothing in the log, and the next ones follow', async (t) => {
  const world = await open(t)
  const node = await openNode(world.settings, world.db)
  for (let i = 0; i < 2; i++) await node.run()
  await world.claim(node)
  const lost = await world.newClaims(1)
  const isRolledBack = world.db.write(async (tx) => {
    await mint(world.depsOf(node), tx, lost)
    throw new Error('later in the same write')
  })
  await assert.rejects(isRolledBack, /later in the same write/)
  for (let i = 0; i < 3; i++) await world.claim(node)
  assert.deepEqual(await world.counts(), [4, 0])
  await node.run()
  assert.equal(node.log.served?.size, 4)
  assert.equal(await verifyStored(world.db.read), null)
})

test('on a database that was rolled back under the service, claims wait in the queue', async (t) => {
  const world = await open(t)
  const node = await openNode(world.settings, world.db)
  for (let i = 0; i < 2; i++) await node.run()
  await world.claim(node)
  const backup = await saveLog(world.db)
  await world.claim(node)
  await node.run()
  assert.equal(node.log.served?.size, 2)

  await restoreLog(world.db, backup)
  await world.claim(node)
  assert.deepEqual(await world.counts(), [1, 1])
  await node.run()
  assert.equal(node.log.halted?.code, 'behind')
  await world.claim(node)
  assert.deepEqual(await world.counts(), [1, 2])
})

test('after another node has appended, claims wait until this one has compared the log', async (t) => {
  const world = await open(t)
  const node = await openNode(world.settings, world.db)
  const other = await openNode(world.settings, world.db, { dataDir: tempDir(t) })
  for (let i = 0; i < 2; i++) await node.run()
  for (const each of [other, node, other, other]) await each.run()
  assert.equal(other.log.problem, null)
  await world.claim(other)
  await world.claim(node)
  assert.deepEqual(await world.counts(), [1, 1])
  await node.run()
  await world.claim(node)
  assert.deepEqual(await world.counts(), [3, 0])
  await node.run()
  assert.equal(await verifyStored(world.db.read), null)
})
