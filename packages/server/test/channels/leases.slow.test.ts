import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { namingFor } from '@countersign/protocol'
import { until, untilTicked } from '../../../../test/support/until.ts'
import { siteOf } from '../../src/base/site.ts'
import { acquireLease } from '../../src/channels/check-table.ts'
import type { ChannelDeps } from '../../src/channels/kinds/kind.ts'
import { CHANNEL_KINDS } from '../../src/channels/kinds/kinds.ts'
import { DueChecks, secondsLate } from '../../src/channels/recheck-due.ts'
import { openDatabase } from '../../src/database/open-database.ts'
import { openPerspectives } from '../../src/http/outbound/fetch-page.ts'
import { type Perspective, ProofAbsent } from '../../src/http/outbound/perspective.ts'
import { EFFECTS } from '../../src/service/effects.ts'
import {
  addChannel,
  check,
  type Fixture,
  newProver,
  proofField,
  runAction,
  startChannelFixture,
} from './support/channel-fixture.ts'
import { DAY, HOUR, MINUTE } from './support/scheduled-checks.ts'

type Cleanup = { after(end: () => unknown): void }

const nameOf = (place: string) => `_svc-challenge.${place}`

/** Proves domains on a service and stops it. Their checks are due a day later. */
async function proven(t: Cleanup, count: number): Promise<Fixture & { places: string[] }> {
  const fixture = await startChannelFixture(t)
  const places: string[] = []
  for (let i = 0; i < count; i++) {
    const place = `place-${i}.example.net`
    const prover = await newProver(fixture)
    const channel = await addChannel(prover, 'domain', place)
    fixture.txt(nameOf(place), proofField(channel, 'dns')('Value'))
    assert.equal((await check(prover, channel)).state, 'verified')
    places.push(place)
  }
  await fixture.service.stop()
  return { ...fixture, places }
}

interface Node extends ChannelDeps {
  readonly checks: DueChecks
  readonly errors: unknown[]
}

/** Another node on the same database, with its own connections, perspectives and check loop, but no HTTP server. */
async function startNode(
  t: Cleanup,
  { service }: Fixture,
  {
    ahead = () => DAY,
    through = (view) => view,
  }: { ahead?: () => number; through?: (view: Perspective) => Perspective } = {},
): Promise<Node> {
  const { settings } = service
  const now = () => Date.now() + ahead()
  const db = await openDatabase(settings.database, now, EFFECTS)
  const perspectives = openPerspectives(settings)
  const channelSources = { kinds: CHANNEL_KINDS, perspectives: perspectives.all.map(through) }
  const site = siteOf(namingFor('svc', 'ServiceID'), settings.baseUrl)
  const deps = { db, site, now, randomBytes, channelSources }
  const errors: unknown[] = []
  const checks = new DueChecks(deps, (error) => errors.push(error))
  t.after(async () => {
    await checks.stop()
    await db.close()
    await perspectives.close()
  })
  return { ...deps, checks, errors }
}

/** Runs the nodes like their timers do, until nothing more is due. */
async function runAll(...nodes: readonly Node[]): Promise<void> {
  await until(async () => {
    await Promise.all(nodes.map(({ checks }) => checks.run()))
    const late = await Promise.all(nodes.map(secondsLate))
    return late.every((seconds) => seconds === 0)
  })
}

/** The counts of ended checks, without zeros. */
const endedOf = ({ checks }: Node) =>
  Object.fromEntries([...checks.ended].filter(([, count]) => count > 0))

/** Waits for these counts of ended checks, which increase only after the checks are recorded. */
const ended = (node: Node, wanted: object) =>
  until(async () => isDeepStrictEqual(endedOf(node), wanted))

const leaseOf = ({ db }: Node, id?: string) => {
  const query = db.read.selectFrom('channel_leases').selectAll()
  return (id === undefined ? query : query.where('channel_id', '=', id)).executeTakeFirstOrThrow()
}

const checksOf = ({ db }: Node) => db.read.selectFrom('channel_checks').selectAll().execute()

suite('several nodes on one database', () => {
  test('check each due channel once', async (t) => {
    const fixture = await proven(t, 20)
    const nodes = [await startNode(t, fixture), await startNode(t, fixture)]
    const asked = () => fixture.places.map((place) => fixture.dns[0]?.asked(nameOf(place), 'TXT'))
    const before = asked()

    await runAll(...(nodes as [Node, Node]))

    assert.deepEqual(
      asked(),
      before.map((count) => (count ?? 0) + 1),
    )
    const sum = () => nodes.reduce((total, node) => total + (endedOf(node).proven ?? 0), 0)
    await until(async () => sum() === 20)
    for (const node of nodes) assert.deepEqual(node.errors, [])
    await runAll(...(nodes as [Node, Node]))
    assert.deepEqual(
      asked(),
      before.map((count) => (count ?? 0) + 1),
      'and not again before the next day',
    )
  })

  test('do not check a channel that another node has checked since they read that it is due', async (t) => {
    const fixture = await proven(t, 1)
    const node = await startNode(t, fixture)
    const { channel_id: id, due_at } = await leaseOf(node)
    const now = node.now()
    const terms = { now, until: now + MINUTE, dueBy: now }
    await node.db.write(({ db }) =>
      db
        .updateTable('channel_leases')
        .set({ due_at: now + DAY })
        .execute(),
    )
    assert.equal(await node.db.write((tx) => acquireLease(tx, id, 'late', terms)), false)
    assert.ok((due_at ?? 0) <= now)
  })

  test('wait while another node holds the lease, and take over when it times out', async (t) => {
    const fixture = await proven(t, 1)
    const node = await startNode(t, fixture)
    const { channel_id: id } = await leaseOf(node)
    const now = node.now()
    const terms = { now, until: now + 2 * MINUTE, dueBy: now }
    assert.equal(await node.db.write((tx) => acquireLease(tx, id, 'died', terms)), true)
    const before = (await checksOf(node)).length
    for (let i = 0; i < 5; i++) await node.checks.run()
    // After this, no check of this node is in progress.
    await node.checks.stop()
    assert.deepEqual([endedOf(node), (await checksOf(node)).length], [{}, before])
    assert.deepEqual((await leaseOf(node)).leased_by, 'died')

    const later = await startNode(t, fixture, { ahead: () => DAY + 2 * MINUTE })
    await runAll(later)

    await ended(later, { proven: 1 })
    assert.deepEqual((await leaseOf(later)).leased_by, null)
  })

  test('discard the result of a check whose lease was lost', async (t) => {
    const fixture = await proven(t, 1)
    const gate = Promise.withResolvers<void>()
    const slow = await startNode(t, fixture, {
      through: ({ name }) => ({
        name,
        txt: async () => {
          await gate.promise
          throw new ProofAbsent('Nothing is there.')
        },
        get: () => Promise.reject(new ProofAbsent('Nothing is there.')),
      }),
    })
    const other = await startNode(t, fixture, { ahead: () => DAY + 3 * MINUTE })
    await slow.checks.run()
    await until(async () => (await leaseOf(slow)).leased_by !== null)
    const before = (await checksOf(other)).length
    await runAll(other)
    const lease = await leaseOf(other)

    gate.resolve()
    await until(async () => endedOf(slow).dropped === 1)

    assert.equal((await checksOf(other)).length, before + 1)
    assert.deepEqual(await leaseOf(other), lease)
    const [channel] = await other.db.read.selectFrom('channels').selectAll().execute()
    assert.deepEqual([channel?.failures, channel?.stale_since], [0, null])
  })
})

suite('a node', () => {
  test('runs a limited number of checks at once, and all of them in the end', async (t) => {
    const fixture = await proven(t, 20)
    let running = 0
    let most = 0
    const gate = Promise.withResolvers<void>()
    const node = await startNode(t, fixture, {
      through: (view) => ({
        ...view,
        txt: async (name) => {
          most = Math.max(most, ++running)
          await gate.promise
          running--
          return view.txt(name)
        },
      }),
    })
    await Promise.all([node.checks.run(), node.checks.run(), node.checks.run()])
    await until(async () => running === 8)
    await node.checks.run()
    gate.resolve()
    await until(async () => endedOf(node).proven === 20)
    assert.equal(most, 8)
  })

  test('reports a check that fails by a bug, retries it an hour later, and runs the others', async (t) => {
    const fixture = await proven(t, 3)
    const bad = nameOf(fixture.places[1] as string)
    let tries = 0
    let ahead = DAY
    const node = await startNode(t, fixture, {
      ahead: () => ahead,
      through: (view) => ({
        ...view,
        txt: async (name) => {
          if (name !== bad) return view.txt(name)
          tries++
          throw new TypeError('a mistake of ours')
        },
      }),
    })

    await runAll(node)

    await ended(node, { proven: 2, failed: 1 })
    assert.deepEqual(node.errors.map(String), ['TypeError: a mistake of ours'])
    for (let i = 0; i < 5; i++) await node.checks.run()
    assert.equal(tries, 1, 'nothing spins')
    ahead += HOUR
    await runAll(node)
    assert.equal(tries, 2)
  })

  test('aborts its checks when it stops, and leaves them due', async (t) => {
    const fixture = await proven(t, 3)
    const node = await startNode(t, fixture, {
      through: ({ name }) => ({
        name,
        txt: () => new Promise(() => undefined),
        get: () => new Promise(() => undefined),
      }),
    })
    await node.checks.run()
    await until(async () => (await leaseOf(node)).leased_by !== null)
    const before = (await checksOf(node)).length

    await node.checks.stop()

    const leases = await node.db.read.selectFrom('channel_leases').selectAll().execute()
    for (const { leased_by, held_until, due_at } of leases) {
      assert.deepEqual([leased_by, held_until], [null, 0])
      assert.ok(due_at !== null && due_at <= node.now())
    }
    assert.equal((await checksOf(node)).length, before)
    await node.checks.run()
    assert.equal((await leaseOf(node)).leased_by, null, 'and begins no more')
    assert.deepEqual(node.errors, [])
  })
})

test('a service stops at once while a check hangs, and the next service checks the channel', async (t) => {
  const clock = { ahead: 0 }
  const fixture = await startChannelFixture(t, { clock })
  const prover = await newProver(fixture)
  const channel = await addChannel(prover, 'domain')
  fixture.txt(nameOf('agents.example.com'), proofField(channel, 'dns')('Value'))
  assert.equal((await runAction(prover, channel, 'check')).state, 'verified')
  fixture.dns[0]?.fail('*', 'silence')
  const { read } = fixture.service.operator.db
  const held = async () =>
    (await read.selectFrom('channel_leases').select('leased_by').executeTakeFirst())?.leased_by
  clock.ahead = DAY
  await untilTicked(fixture.service, async () => (await held()) !== null)

  await fixture.service.stop()

  const node = await startNode(t, fixture)
  const { leased_by, held_until } = await leaseOf(node)
  assert.deepEqual([leased_by, held_until], [null, 0])
  fixture.dns[0]?.fail('*', null)
  await runAll(node)
  await ended(node, { proven: 1 })
})
