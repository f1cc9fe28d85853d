import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import {
  type Checkpoint,
  openCheckpoint,
  proveConsistency,
  TREE_SIZE_TYPE,
  verifyConsistency,
} from '@countersign/protocol'
import { verifyEd25519 } from '../../../../test/support/log-client.ts'
import { tempDir } from '../../../../test/support/service.ts'
import { startTestWitness, type TestWitness } from '../../../../test/support/test-witness.ts'
import { currentEpoch, keyOfEpoch, readHashesFromDatabase } from '../../src/log/log-table.ts'
import { type LogNode, openNode, restoreLog, saveLog } from './support.ts'
import { INTERVAL_MS, openWitnessed, type WitnessedWorld } from './witnessed-node.ts'

/** Longer than a witness that fails or refuses is left alone. */
const PAUSE_MS = 61_000

async function openOne(t: TestContext) {
  const { world, witnesses } = await openWitnessed(t, ['a'], 'quorum a\n')
  return { world, witness: witnesses[0] as TestWitness }
}

const epochOf = async ({ db }: WitnessedWorld) => (await currentEpoch(db.read)) ?? assert.fail()
const sizeOf = ({ log }: LogNode) => log.served?.size ?? null
const queued = async ({ db }: WitnessedWorld) =>
  (await db.read.selectFrom('log_queue').select('seq').execute()).length
const pending = ({ db }: WitnessedWorld) =>
  db.read.selectFrom('log_pending').select('size').execute()
const knownBy = ({ cosigned }: TestWitness): Checkpoint =>
  [...cosigned.values()][0] ?? assert.fail()

/** Whether what is published contains what the witness has cosigned. */
async function isConsistent(world: WitnessedWorld, old: Checkpoint): Promise<boolean> {
  const { size, root } = await epochOf(world)
  const proof = await proveConsistency(
    old.size,
    size,
    readHashesFromDatabase(world.db.read, 1, size),
  )
  return verifyConsistency(old, { size, root }, proof)
}

test('a checkpoint is published once it has the quorum, and at most every 10 seconds a new one', async (t) => {
  const { world, witness } = await openOne(t)
  const node = await world.openNode()
  await world.claim()
  await node.run()
  assert.equal(node.log.served?.size, 0, 'the empty log')
  await world.grow(node)
  const { served } = node.log
  assert.equal(served?.size, 2)
  assert.deepEqual(served?.cosigners, ['a.example/witness'])
  const opened = await openCheckpoint(
    served?.signed ?? '',
    keyOfEpoch(await epochOf(world)),
    verifyEd25519,
  )
  assert.deepEqual(
    opened?.note.signatures.map(({ name }) => name),
    [served?.origin, 'a.example/witness'],
  )

  await world.claim()
  await node.run()
  const asked = witness.asked.length
  world.advance(INTERVAL_MS - 1)
  await node.run()
  assert.deepEqual([node.log.served?.size, witness.asked.length], [2, asked])
  assert.equal((await epochOf(world)).size, 3, 'it has its place')
  world.advance(1)
  await node.run()
  assert.equal(node.log.served?.size, 3)
  // Before the signature and after it.
  const last = witness.asked.slice(asked).map(({ oldSize }) => oldSize)
  assert.deepEqual(last, [2, 2])
})

test('a checkpoint from before the log had witnesses is served once they have cosigned it', async (t) => {
  const { world, witness } = await openOne(t)
  await world.claim()
  const before = await openNode(world.settings, world.db, { now: world.now })
  await before.run()
  assert.deepEqual([before.log.served?.size, before.log.served?.cosigners], [1, []])
  witness.instead = () => ({ status: 503 })
  const node = await world.openNode()
  await node.run()
  await node.run()
  assert.deepEqual([sizeOf(node), node.log.problem], [null, null])
  witness.instead = null
  world.advance(PAUSE_MS)
  await node.run()
  assert.equal(sizeOf(node), 1)
  assert.deepEqual(node.log.served?.cosigners, ['a.example/witness'])
})

test('a database that was rolled back is not signed while a witness knows more, and entries stay queued', async (t) => {
  const { world, witness } = await openOne(t)
  const node = await world.openNode()
  await world.grow(node)
  await world.grow(node)
  const backup = await saveLog(world.db)
  await world.grow(node)
  const known = knownBy(witness)
  assert.equal(known.size, 3)

  await world.restore(backup)
  await world.claim()
  const restarted = await world.openNode()
  await restarted.run()
  await restarted.run()
  assert.match(restarted.log.problem ?? '', /a\.example\/witness has cosigned 3 entries .* has 2:/)
  assert.equal(sizeOf(restarted), null)
  const { size, published_size: published } = await epochOf(world)
  assert.deepEqual([size, published, await queued(world)], [2, 2, 1])
  assert.deepEqual(await pending(world), [])

  // The control: a witness that has forgotten lets the fork be published.
  witness.cosigned.clear()
  world.advance(PAUSE_MS)
  await restarted.run()
  await world.grow(restarted)
  assert.equal(restarted.log.problem, null)
  assert.ok((sizeOf(restarted) ?? 0) > known.size)
  assert.ok(!(await isConsistent(world, known)))
})

test('a history that grew differently halts the log at the witness', async (t) => {
  const { world, witness } = await openOne(t)
  const node = await world.openNode()
  await world.grow(node)
  await world.grow(node)
  const backup = await saveLog(world.db)
  await world.grow(node)
  const known = knownBy(witness)

  // A node without witnesses signs the fork, as a release from before would.
  await world.restore(backup)
  await world.claim()
  const careless = await openNode(world.settings, world.db, { now: world.now })
  await careless.run()
  assert.ok((careless.log.served?.size ?? 0) > known.size)
  assert.ok(!(await isConsistent(world, known)))

  const restarted = await world.openNode()
  await restarted.run()
  assert.equal(sizeOf(restarted), null, 'it is not cosigned')
  await restarted.run()
  assert.match(restarted.log.problem ?? '', /does not contain the 3 entries that the witness a\./)
  assert.deepEqual(
    witness.asked.slice(-2).map(({ oldSize }) => oldSize),
    [2, 3],
  )
  assert.equal(knownBy(witness), known)
})

for (const [name, answer] of [
  ['422', { status: 422 }],
  ['409 with our own size', { status: 409, type: TREE_SIZE_TYPE, body: '2\n' }],
  ['409 without a size', { status: 409, body: 'It has another root.\n' }],
] as const) {
  test(`another root at our size halts the log: ${name}`, async (t) => {
    const { world, witness } = await openOne(t)
    const node = await world.openNode()
    await world.grow(node)
    await world.grow(node)
    await world.claim()
    await node.run()
    assert.equal(node.log.problem, null)
    world.advance(INTERVAL_MS)
    witness.instead = (honest, { checkpoint }) => {
      const other = { ...knownBy(witness), root: randomBytes(32) }
      witness.cosigned.set(other.origin, other)
      assert.equal(Number(checkpoint.split('\n')[1]), other.size)
      return answer.status === 422 ? honest() : answer
    }
    await node.run()
    assert.match(node.log.problem ?? '', /does not contain the 2 entries/)
    assert.deepEqual(await pending(world), [])
  })
}

test('a witness that fails does not halt the log, and ends no halt; it is asked again, less and less often', async (t) => {
  const { world, witness } = await openOne(t)
  const node = await world.openNode()
  await world.grow(node)
  await world.grow(node)
  const failures: (() => ReturnType<NonNullable<TestWitness['instead']>>)[] = [
    () => ({ status: 500 }),
    () => ({ status: 404 }),
    () => ({ status: 418, type: TREE_SIZE_TYPE, body: '1000\n' }),
    () => ({ status: 307, headers: { location: witness.url } }),
    () => ({ status: 200, body: 'x'.repeat(100_000) }),
  ]
  for (const [i, fail] of failures.entries()) {
    witness.instead = fail
    await world.grow(node)
    world.advance(PAUSE_MS)
    await node.run()
    const [report] = node.witnesses.reports
    assert.deepEqual([node.log.problem, report?.problem], [null, null])
    assert.ok((report?.failures ?? 0) > i, `${i} ${report?.failure}`)
    // What has the quorum stays served.
    assert.equal(node.log.served?.size, 2)
  }
  const asked = witness.asked.length
  for (let second = 0; second < 60; second++) {
    world.advance(1000)
    await node.run()
  }
  assert.ok(witness.asked.length - asked <= 1, 'once a minute')
  witness.instead = null
  world.advance(PAUSE_MS)
  await node.run()
  assert.equal(node.log.served?.size, 2 + failures.length)
  assert.equal(node.witnesses.reports[0]?.failure, null)

  const known = knownBy(witness)
  witness.cosigned.set(known.origin, { ...known, size: known.size + 1 })
  await world.grow(node)
  assert.match(node.log.problem ?? '', /has cosigned 8 entries/)
  for (const fail of [...failures, () => ({ status: 503 })]) {
    witness.instead = fail
    world.advance(PAUSE_MS)
    await node.run()
    assert.match(node.log.problem ?? '', /has cosigned 8 entries/)
    assert.equal(node.log.served, null)
  }
  // The control: a cosignature ends the halt.
  witness.instead = null
  witness.cosigned.set(known.origin, known)
  world.advance(PAUSE_MS)
  await node.run()
  assert.equal(node.log.problem, null)
})

test('a witness with an older state gets a proof from there', async (t) => {
  const { world, witness } = await openOne(t)
  const node = await world.openNode()
  await world.grow(node)
  await world.grow(node)
  const older = knownBy(witness)
  await world.grow(node)
  await world.grow(node)
  for (const [old, from] of [
    [older, 2],
    [null, 0],
  ] as const) {
    witness.cosigned.clear()
    if (old !== null) witness.cosigned.set(old.origin, old)
    const before = node.log.served?.size ?? 0
    const asked = witness.asked.length
    await world.grow(node)
    assert.deepEqual([node.log.problem, node.log.served?.size], [null, before + 1])
    const sizes = witness.asked.slice(asked).map(({ oldSize }) => oldSize)
    assert.deepEqual(sizes, [before, from, before])
  }
})

test('a witness that names another size each time is asked three times', async (t) => {
  const { world, witness } = await openOne(t)
  const node = await world.openNode()
  for (let i = 0; i < 5; i++) await world.grow(node)
  const asked = witness.asked.length
  witness.instead = (_honest, { oldSize }) => {
    const body = `${oldSize === 0 ? 1 : oldSize - 1}\n`
    return { status: 409, type: TREE_SIZE_TYPE, body }
  }
  await world.grow(node)
  assert.equal(witness.asked.length - asked, 3)
  assert.match(node.witnesses.reports[0]?.failure ?? '', /409 again and again/)
  // What has no size says nothing about a tree that it was not asked about.
  for (const body of ['', 'x', '1000000000000000000\n', '5']) {
    world.advance(PAUSE_MS)
    witness.instead = () => ({ status: 409, type: TREE_SIZE_TYPE, body })
    await node.run()
    assert.equal(node.log.problem, null)
  }
})

test('only a cosignature of this checkpoint, by this witness and at a plausible time, counts', async (t) => {
  const { world, witness } = await openOne(t)
  const stranger = await startTestWitness(t, 'a', world.now)
  const node = await world.openNode()
  await world.grow(node)
  const seconds = () => Math.floor(world.now() / 1000)
  const other = 'x/log/1\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n'
  const wrong: ((text: string) => string)[] = [
    () => '',
    () => 'x\n',
    (text) => stranger.cosign(text, seconds()),
    () => witness.cosign(other, seconds()),
    (text) => witness.cosign(text, seconds() + 3600),
    (text) => witness.cosign(text, seconds() - 3600),
    (text) => witness.cosign(text, 0),
    (text) => witness.cosign(text, seconds()).trimEnd(),
    (text) => witness.cosign(text, seconds()).replace('a.example', 'b.example'),
  ]
  await world.claim()
  await node.run()
  for (const make of wrong) {
    world.advance(PAUSE_MS)
    witness.instead = (_honest, { checkpoint }) => ({
      status: 200,
      body: make(checkpoint.slice(0, checkpoint.indexOf('\n\n') + 1)),
    })
    await node.run()
    assert.equal(node.log.served?.size, 1, make.toString())
    assert.notEqual(node.witnesses.reports[0]?.failure, null, make.toString())
  }
  // The control, beside cosignatures of others.
  world.advance(PAUSE_MS)
  witness.instead = (_honest, { checkpoint }) => {
    const text = checkpoint.slice(0, checkpoint.indexOf('\n\n') + 1)
    const body = stranger.cosign(text, seconds()) + witness.cosign(text, seconds())
    return { status: 200, body }
  }
  await node.run()
  assert.equal(node.log.served?.size, 2)
  assert.equal(node.log.served?.signed.split('\n— ').length, 3, 'the log and the witness')
})

test('the quorum of a policy decides', async (t) => {
  const names = ['a', 'b', 'c']
  const { world, witnesses } = await openWitnessed(t, names, 'group g 2 a b c\nquorum g\n')
  const [a, b] = witnesses as [TestWitness, TestWitness, TestWitness]
  const node = await world.openNode()
  await world.grow(node)
  a.instead = () => ({ status: 503 })
  await world.grow(node)
  assert.equal(node.log.served?.size, 2)
  assert.deepEqual(node.log.served?.cosigners, ['b.example/witness', 'c.example/witness'])
  b.instead = () => ({ status: 503 })
  await world.grow(node)
  assert.equal(node.log.served?.size, 2, 'one of three')
  assert.equal(node.witnesses.waitingSince, world.now())
  b.instead = null
  world.advance(PAUSE_MS)
  await node.run()
  assert.equal(node.log.served?.size, 3)
})

test('nodes that ask at once agree on each checkpoint', async (t) => {
  const { world, witnesses } = await openWitnessed(t, ['a', 'b'], 'group g all a b\nquorum g\n')
  const nodes = await Promise.all(
    [0, 1, 2].map(() => world.openNode({ dataDir: tempDir(t), isRequired: true })),
  )
  const all = () => Promise.all(nodes.map(({ run }) => run()))
  await all()
  for (let round = 0; round < 4; round++) {
    await world.claim()
    await all()
    world.advance(INTERVAL_MS)
    await all()
  }
  world.advance(PAUSE_MS)
  // One asks, one signs, one publishes: each may be another.
  for (let i = 0; i < 8; i++) await all()
  for (const { log } of nodes) assert.deepEqual([log.problem, log.served?.size], [null, 4])
  for (const witness of witnesses) assert.equal(knownBy(witness).size, 4)
})

test('if witnesses are required, a machine that was rolled back with its anchor signs and serves nothing', async (t) => {
  const { world, witness } = await openOne(t)
  const node = await world.openNode({ isRequired: true })
  await node.run()
  await world.grow(node)
  await world.grow(node)
  const image = await saveLog(world.db)
  await world.grow(node)
  assert.equal(node.log.served?.size, 3)

  await world.restore(image)
  await world.claim()
  witness.instead = () => ({ status: 503 })
  const restarted = await world.openNode({ isRequired: true })
  for (let i = 0; i < 3; i++) {
    await restarted.run()
    world.advance(PAUSE_MS)
    assert.deepEqual([sizeOf(restarted), restarted.log.problem], [null, null], 'nobody answers')
  }
  witness.instead = null
  await restarted.run()
  assert.match(restarted.log.problem ?? '', /has cosigned 3 entries/)
  assert.equal(sizeOf(restarted), null)
  assert.deepEqual([(await epochOf(world)).size, await queued(world)], [2, 1])

  // The control: without witnesses, nothing stops it.
  const careless = await openNode(world.settings, world.db, { now: world.now })
  await careless.run()
  assert.equal(careless.log.problem, null)
  assert.ok((careless.log.served?.size ?? 0) > 2)
})

test('without log-head, as many witnesses as every quorum needs one of stand in for another node, in this run', async (t) => {
  const quorum = 'group two 2 a b c\nquorum two\n'
  const { world, witnesses } = await openWitnessed(t, ['a', 'b', 'c'], quorum)
  const node = await world.openNode()
  await node.run()
  await world.grow(node)
  const backup = await saveLog(world.db)
  const down = () => ({ status: 503 })
  const [a, b, c] = witnesses as [TestWitness, TestWitness, TestWitness]

  // Of three witnesses with a quorum of two, one is not enough: the two others may have cosigned more.
  for (const each of [b, c]) each.instead = down
  world.advance(1)
  const alone = await world.openNode({ dataDir: tempDir(t) })
  for (let i = 0; i < 3; i++) await alone.run()
  assert.equal(alone.log.halted?.code, 'no-anchor')
  b.instead = null
  world.advance(60_000)
  for (let i = 0; i < 3; i++) await alone.run()
  assert.equal(alone.log.problem, null)
  assert.deepEqual(alone.log.served, node.log.served)

  // What they have said before the start of a process does not count, and they know more than a restored database.
  for (const each of witnesses) each.instead = down
  world.advance(1)
  const silent = await world.openNode({ dataDir: tempDir(t) })
  for (let i = 0; i < 3; i++) await silent.run()
  assert.equal(silent.log.halted?.code, 'no-anchor')
  for (const each of [a, b, c]) each.instead = null
  world.advance(60_000)
  await world.grow(node)
  await world.grow(node)
  await restoreLog(world.db, backup)
  const restored = await world.openNode({ dataDir: tempDir(t) })
  for (let i = 0; i < 3; i++) await restored.run()
  assert.equal(restored.log.halted?.code, 'witness')
  assert.equal(restored.log.served, null)
})
