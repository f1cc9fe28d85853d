import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Checkpoint, encodeBase64, hashLeaf, treeRoot, utf8 } from '@countersign/protocol'
import { type Operator, openOperator, tempDir, testEnv } from '../../../../test/support/service.ts'
import { issueToken } from '../../src/agents/claims/issue-token.ts'
import { mintBatch } from '../../src/agents/claims/mint.ts'
import { readSettings, type Settings } from '../../src/base/config.ts'
import { hashToken } from '../../src/base/hash-token.ts'
import { type Database, UnknownOutcome } from '../../src/database/database.ts'
import { acceptHead } from '../../src/log/accept.ts'
import { ANCHOR_FILE, LogAnchor } from '../../src/log/anchor.ts'
import {
  currentEpoch,
  readHashesFromDatabase,
  updateEpoch,
  upsertTiles,
} from '../../src/log/log-table.ts'
import { TreeEdge } from '../../src/log/tree-edge.ts'
import { openServiceKey } from '../../src/secrets/service-keys.ts'
import { type LogNode, openNode, restoreLog, saveLog } from './support.ts'

interface World extends Operator {
  readonly settings: Settings
  claim(): Promise<void>
}

async function open(t: TestContext): Promise<World> {
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings)
  t.after(() => operator.close())
  const owner = await operator.addVerifiedOwner()
  const { db } = operator
  const { naming } = settings
  const deps = { naming, keyReuse: 'owner', log: null, now: Date.now, randomBytes } as const
  return {
    ...operator,
    settings,
    async claim() {
      const { claimToken } = await issueToken({ db, naming, now: Date.now, randomBytes }, owner)
      const tokenHash = hashToken(claimToken)
      const made = { publicKey: randomBytes(32), agentId: 'main', signature: randomBytes(64) }
      await db.writeBatched(mintBatch, { deps, claim: { tokenHash, ...made } })
    },
  }
}

/** What an operator can do if nobody knows a state of the log. */
async function acceptFork({ db, settings }: World, dataDir = settings.dataDir): Promise<void> {
  const forkOf = (await currentEpoch(db.read))?.origin ?? ''
  await acceptHead({ db, dataDir }, { forkOf })
}

/** A node without an anchor asks, the other one answers, and it goes on. */
async function joined(node: LogNode, other: LogNode): Promise<void> {
  await node.run()
  assert.equal(node.log.halted?.code, 'no-anchor')
  await other.run()
  await node.run()
  assert.equal(node.log.problem, null)
}

const anchorOf = ({ settings }: World) => join(settings.dataDir, ANCHOR_FILE)

async function checkpointOf({ db }: World): Promise<string> {
  return (await currentEpoch(db.read))?.checkpoint ?? ''
}

test('a log that was rolled back is neither signed nor served, and changes stay queued', async (t) => {
  const world = await open(t)
  await world.claim()
  const node = await openNode(world.settings, world.db)
  await node.run()
  const backup = await saveLog(world.db)
  await world.claim()
  await node.run()
  const signed = await checkpointOf(world)
  assert.equal(node.log.served?.size, 2)

  await restoreLog(world.db, backup)
  const restarted = await openNode(world.settings, world.db)
  await restarted.run()
  assert.match(restarted.log.problem ?? '', /has 1 entries of the log, but 2 were signed/)
  assert.equal(restarted.log.served, null)
  await node.run()
  assert.notEqual(node.log.problem, null)
  assert.equal(node.log.served, null)

  await world.claim()
  await restarted.run()
  assert.equal((await currentEpoch(world.db.read))?.size, 1)
  assert.equal((await world.db.read.selectFrom('log_queue').select('seq').execute()).length, 1)

  // Nor without the anchor, as on a new machine.
  rmSync(anchorOf(world))
  const careless = await openNode(world.settings, world.db)
  for (let i = 0; i < 3; i++) await careless.run()
  assert.equal(careless.log.halted?.code, 'no-anchor')
  assert.equal((await currentEpoch(world.db.read))?.size, 1)
  // The control: an operator who accepts what the database has signs another root for the same size.
  await acceptFork(world)
  await careless.run()
  const size = careless.log.served?.size ?? 0
  assert.ok(size > 2)
  const forked = await treeRoot(2, readHashesFromDatabase(world.db.read, 1, size))
  assert.notEqual(encodeBase64(forked), signed.split('\n')[2])
})

test('a node that has served a checkpoint refuses another root for its size, even if it has signed nothing', async (t) => {
  const world = await open(t)
  await world.claim()
  const signer = await openNode(world.settings, world.db)
  const follower = await openNode(world.settings, world.db, { dataDir: tempDir(t) })
  await signer.run()
  const before = await saveLog(world.db)
  await world.claim()
  await signer.run()
  await joined(follower, signer)
  assert.deepEqual(follower.log.served, signer.log.served)
  assert.equal(follower.log.served?.size, 2)

  // Another primary has sequenced another second entry, and a node whose operator has accepted that signs it.
  await restoreLog(world.db, before)
  await world.claim()
  const dataDir = tempDir(t)
  await acceptFork(world, dataDir)
  const other = await openNode(world.settings, world.db, { dataDir })
  await other.run()
  assert.ok((other.log.served?.size ?? 0) > 2)
  await follower.run()
  assert.match(follower.log.problem ?? '', /are not those that were signed or served/)
  assert.equal(follower.log.served, null)
})

test('rewritten tiles show before the next signature', async (t) => {
  const world = await open(t)
  for (let i = 0; i < 3; i++) await world.claim()
  const node = await openNode(world.settings, world.db)
  await node.run()
  const epoch = await currentEpoch(world.db.read)
  assert.ok(epoch)
  const edge = new TreeEdge(0, [])
  for (let i = 0; i < 3; i++) edge.append(hashLeaf(utf8(`rewritten ${i}`)))
  await world.db.write((tx) => upsertTiles(tx, epoch.epoch, edge.takeTiles()))
  await world.claim()
  await node.run()
  assert.match(node.log.problem ?? '', /are not those that were signed/)
  assert.equal((await currentEpoch(world.db.read))?.published_size, 3)
})

test('a root that was exchanged in the database is not signed', async (t) => {
  const world = await open(t)
  await world.claim()
  const node = await openNode(world.settings, world.db)
  await node.run()
  await world.db.write((tx) => updateEpoch(tx, 1, { root: randomBytes(32) }))
  await node.run()
  assert.match(node.log.problem ?? '', /are not those that were signed/)
})

test('an unreadable anchor and another log under it are refused', async (t) => {
  const world = await open(t)
  await world.claim()
  const node = await openNode(world.settings, world.db)
  await node.run()
  const text = readFileSync(anchorOf(world), 'utf8')
  assert.equal(text, `${(await checkpointOf(world)).split('\n\n')[0]}\n`)
  writeFileSync(anchorOf(world), text.replace('/log/1', '/log/7'))
  await node.run()
  assert.match(node.log.problem ?? '', /is of the log .*\/log\/7/)
  writeFileSync(anchorOf(world), 'x')
  await assert.rejects(node.run(), /is not the text of a checkpoint/)
  writeFileSync(anchorOf(world), text)
  await node.run()
  assert.equal(node.log.problem, null)
})

test('a checkpoint is signed by the key of its log only', async (t) => {
  const world = await open(t)
  await world.claim()
  const node = await openNode(world.settings, world.db)
  await node.run()
  await world.claim()
  const stranger = { publicKey: randomBytes(32), sign: () => randomBytes(64) }
  const other = await openNode(world.settings, world.db, { key: stranger, dataDir: tempDir(t) })
  await other.run()
  assert.match(other.log.problem ?? '', /is not the key of/)
  assert.equal((await currentEpoch(world.db.read))?.published_size, 1)
  await node.run()
  assert.equal(node.log.served?.size, 2)

  // A checkpoint that somebody else has put into the database is not served.
  const forged = (await checkpointOf(world)).replace(/\n2\n/, '\n3\n')
  await world.db.write((tx) => updateEpoch(tx, 1, { checkpoint: forged }))
  const restarted = await openNode(world.settings, world.db)
  await restarted.run()
  assert.match(restarted.log.problem ?? '', /is not signed by log-key/)
  assert.equal(restarted.log.served, null)
})

test('of two processes that change the anchor at once, one does', async (t) => {
  const dataDir = tempDir(t)
  const [a, b] = [new LogAnchor(dataDir), new LogAnchor(dataDir)]
  const at = (size: number): Checkpoint => ({
    origin: 'x/log/1',
    size,
    root: Buffer.alloc(32, size),
  })
  assert.ok(a.compareAndSwap(null, at(1)))
  const seen = b.read()
  assert.ok(a.compareAndSwap(at(1), at(3)))
  assert.ok(!b.compareAndSwap(seen, at(2)))
  assert.equal(b.read()?.size, 3)
  assert.ok(!b.compareAndSwap(null, at(4)))
})

test('two nodes that sequence at once give each change one place', async (t) => {
  const world = await open(t)
  const nodes = await Promise.all(
    [0, 1, 2].map(() => openNode(world.settings, world.db, { dataDir: tempDir(t) })),
  )
  for (let round = 0; round < 4; round++) {
    await Promise.all([world.claim().then(() => world.claim()), ...nodes.map(({ run }) => run())])
  }
  await Promise.all(nodes.map(({ run }) => run()))
  await Promise.all(nodes.map(({ run }) => run()))
  for (let i = 0; i < 3; i++) await Promise.all(nodes.map(({ run }) => run()))
  for (const { log } of nodes) assert.equal(log.served?.size, 8)
  const rows = await world.db.read.selectFrom('log_entries').select('entry').execute()
  const dids = rows.map(({ entry }) => (JSON.parse(entry) as { did: string }).did)
  assert.equal(new Set(dids).size, 8)
})

test('what a commit with an unknown outcome has left is signed only after a commit that succeeds', async (t) => {
  const world = await open(t)
  await world.claim()
  let isDoubtful = false
  // As a cancelled wait for a synchronous standby: committed on the primary, and perhaps nowhere else.
  const doubtful: Pick<Database, 'read' | 'write'> = {
    read: world.db.read,
    async write(work) {
      const result = await world.db.write(work)
      if (isDoubtful) throw new UnknownOutcome('Committed with a warning.')
      return result
    },
  }
  const key = await openServiceKey({ db: world.db, folders: world.settings }, 'log')
  const node = await openNode(world.settings, doubtful, { key })
  await node.run()
  isDoubtful = true
  await world.claim()
  for (let i = 0; i < 3; i++) await assert.rejects(node.run(), UnknownOutcome)
  const left = await currentEpoch(world.db.read)
  assert.deepEqual([left?.size, left?.published_size], [2, 1])
  assert.equal(new LogAnchor(world.settings.dataDir).read()?.size, 1)
  isDoubtful = false
  await node.run()
  assert.equal(node.log.served?.size, 2)
})
