import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { namingFor } from '@countersign/protocol'
import { until, untilTicked } from '../../../../test/support/until.ts'
import { acquireLease } from '../../src/channels/check-table.ts'
import type { ChannelDeps } from '../../src/channels/deps.ts'
import { CHANNEL_KINDS } from '../../src/channels/kinds/kinds.ts'
import { DueChecks, secondsLate } from '../../src/channels/recheck-due.ts'
import { openDatabase } from '../../src/core/database/open-database.ts'
import { openPerspectives } from '../../src/core/network/open-perspectives.ts'
import { type Perspective, ProofAbsent } from '../../src/core/network/perspective.ts'
import { siteOf } from '../../src/core/site.ts'
import { DAY, HOUR, MINUTE } from './support/days.ts'
import {
  act,
  begin,
  check,
  type Fixture,
  newProver,
  startChannelFixture,
  toPlace,
} from './support/proving.ts'

type Cleanup = { after(end: () => unknown): void }

const nameOf = (place: string) => `_svc-challenge.${place}`

/** A service in which so many domains have been proven, and which has stopped; they are due a day later. */
async function proven(t: Cleanup, count: number): Promise<Fixture & { places: string[] }> {
  const fixture = await startChannelFixture(t)
  const places: string[] = []
  for (let i = 0; i < count; i++) {
    const place = `place-${i}.example.net`
    const prover = await newProver(fixture)
    const channel = await begin(prover, 'domain', place)
    fixture.txt(nameOf(place), toPlace(channel, 'dns')('Value'))
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

/** One more service on the same database, as far as checks go: connections, perspectives and a loop of its own. */
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
  const db = await openDatabase(settings.database, now)
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

/** Calls a node as its timer does, until there is nothing more that is due. */
async function runAll(...nodes: readonly Node[]): Promise<void> {
  await until(async () => {
    await Promise.all(nodes.map(({ checks }) => checks.run()))
    const late = await Promise.all(nodes.map(secondsLate))
    return late.every((seconds) => seconds === 0)
  })
}

/** How checks have ended, without the ways in which none has. */
const endedOf = ({ checks }: Node) =>
  Object.fromEntries([...checks.ended].filter(([, count]) => count > 0))

/** Waits until checks have ended so: what they have recorded shows a moment before. */
const ended = (node: Node, wanted: object) =>
  until(async () => isDeepStrictEqual(endedOf(node), wanted))

const leaseOf = ({ db }: Node, id?: string) => {
  const query = db.read.selectFrom('channel_leases').selectAll()
  return (id === undefined ? query : query.where('channel_id', '=', id)).executeTakeFirstOrThrow()
}

const checksOf = ({ db }: Node) => db.read.selectFrom('channel_checks').selectAll().execute()

suite('several nodes on one database', () => {
  test('check each channel that is due once', async (t) => {
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

  test('do not check what another has checked since they saw that it is due', async (t) => {
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

  test('wait for one that holds a lease, and take over once its time is over', async (t) => {
    const fixture = await proven(t, 1)
    const node = await startNode(t, fixture)
    const { channel_id: id } = await leaseOf(node)
    const now = node.now()
    const terms = { now, until: now + 2 * MINUTE, dueBy: now }
    assert.equal(await node.db.write((tx) => acquireLease(tx, id, 'died', terms)), true)
    const before = (await checksOf(node)).length
    for (let i = 0; i < 5; i++) await node.checks.run()
    // Whatever it has begun ends with it.
    await node.checks.stop()
    assert.deepEqual([endedOf(node), (await checksOf(node)).length], [{}, before])
    assert.deepEqual((await leaseOf(node)).holder, 'died')

    const later = await startNode(t, fixture, { ahead: () => DAY + 2 * MINUTE })
    await runAll(later)

    await ended(later, { proven: 1 })
    assert.deepEqual((await leaseOf(later)).holder, null)
  })

  test('drop what a check found whose lease was lost', async (t) => {
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
    await until(async () => (await leaseOf(slow)).holder !== null)
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
  test('has a few checks under way at once, and does all there are', async (t) => {
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

  test('is not hurt by a check that fails by a mistake: it is told, and tried again an hour later', async (t) => {
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

  test('gives up what is under way when it stops, and leaves it due', async (t) => {
    const fixture = await proven(t, 3)
    const node = await startNode(t, fixture, {
      through: ({ name }) => ({
        name,
        txt: () => new Promise(() => undefined),
        get: () => new Promise(() => undefined),
      }),
    })
    await node.checks.run()
    await until(async () => (await leaseOf(node)).holder !== null)
    const before = (await checksOf(node)).length

    await node.checks.stop()

    const leases = await node.db.read.selectFrom('channel_leases').selectAll().execute()
    for (const { holder, held_until, due_at } of leases) {
      assert.deepEqual([holder, held_until], [null, 0])
      assert.ok(due_at !== null && due_at <= node.now())
    }
    assert.equal((await checksOf(node)).length, before)
    await node.checks.run()
    assert.equal((await leaseOf(node)).holder, null, 'and begins no more')
    assert.deepEqual(node.errors, [])
  })
})

test('a service that stops while a check hangs ends at once, and the next one checks', async (t) => {
  const clock = { ahead: 0 }
  const fixture = await startChannelFixture(t, { clock })
  const prover = await newProver(fixture)
  const channel = await begin(prover, 'domain')
  fixture.txt(nameOf('agents.example.com'), toPlace(channel, 'dns')('Value'))
  assert.equal((await act(prover, channel, 'check')).state, 'verified')
  fixture.dns[0]?.fail('*', 'silence')
  const { read } = fixture.service.operator.db
  const held = async () =>
    (await read.selectFrom('channel_leases').select('holder').executeTakeFirst())?.holder
  clock.ahead = DAY
  await untilTicked(fixture.service, async () => (await held()) !== null)

  await fixture.service.stop()

  const node = await startNode(t, fixture)
  const { holder, held_until } = await leaseOf(node)
  assert.deepEqual([holder, held_until], [null, 0])
  fixture.dns[0]?.fail('*', null)
  await runAll(node)
  await ended(node, { proven: 1 })
})
