import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type Operator, openOperator, testEnv } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { readSettings } from '../../src/base/config.ts'
import { siteOf } from '../../src/base/site.ts'
import { type AgentEventType, appendAgentEvent } from '../../src/database/event-table.ts'
import { openSender } from '../../src/http/outbound/open-sender.ts'
import { loadPepper } from '../../src/secrets/secrets.ts'
import { openServiceKey } from '../../src/secrets/service-keys.ts'
import type { DeliveryDeps } from '../../src/webhooks/attempt.ts'
import {
  countEndpointStates,
  DueDeliveries,
  measureWaiting,
} from '../../src/webhooks/due-deliveries.ts'
import { fanOut } from '../../src/webhooks/fan-out.ts'
import {
  changeEndpoint,
  createEndpoint,
  listEndpoints,
} from '../../src/webhooks/manage-endpoints.ts'
import { payloadOf, type Receiver, startReceiver } from './support/receiver.ts'

const SECOND_MS = 1000
const DAY_MS = 86_400_000

interface World {
  readonly clock: { ahead: number }
  readonly operator: Operator
  readonly deps: DeliveryDeps
  readonly ownerId: number
  readonly receiver: Receiver
  readonly webhookId: string
  readonly errors: unknown[]
  /** Another node or worker. */
  node(): DueDeliveries
  /** Appends an event of an agent of the owner. */
  append(type?: AgentEventType | 'owner.updated', ownerId?: number): Promise<void>
}

async function startWorld(t: TestContext): Promise<World> {
  const clock = { ahead: 0 }
  // It stands still, so that nothing is due because a machine is slow.
  const start = Date.now()
  const now = () => start + clock.ahead
  const settings = readSettings(await testEnv(t))
  const operator = await openOperator(settings, now)
  const { db } = operator
  const sender = openSender(settings, 'Countersign/test')
  const webhookKey = await openServiceKey({ db, folders: settings }, 'webhook')
  const site = siteOf(settings.naming, settings.baseUrl)
  const pepper = loadPepper(settings)
  const issuerKeys = { sign: () => assert.fail('no endpoint has the format set') }
  const common = { db, site, serviceName: 'Example ID', pepper, now, randomBytes }
  const deps: DeliveryDeps = { ...common, webhookKey, issuerKeys, sender }
  const ownerId = await operator.addVerifiedOwner('ada')
  const receiver = await startReceiver(t)
  const { id } = await createEndpoint(
    deps,
    { ownerId, apiKey: null, membership: null },
    { url: receiver.url },
  )
  const errors: unknown[] = []
  const nodes: DueDeliveries[] = []
  t.after(async () => {
    for (const node of nodes) await node.stop()
    await sender.close()
    await operator.close()
    assert.deepEqual(errors, [])
  })
  return {
    clock,
    operator,
    deps,
    ownerId,
    receiver,
    webhookId: id,
    errors,
    node() {
      const node = new DueDeliveries(deps, (error) => errors.push(error))
      nodes.push(node)
      return node
    },
    append: (type = 'agent.suspended', owner = ownerId) =>
      db.write(async (tx) =>
        appendAgentEvent(tx, {
          seq: tx.nextSeq(),
          at: now(),
          type: type as AgentEventType,
          tail: 'a'.repeat(24),
          ownerId: owner,
          payload: {},
        }),
      ),
  }
}

const endpointOf = async ({ deps, ownerId, webhookId }: World) => {
  const { webhooks } = await listEndpoints(deps, ownerId)
  const found = webhooks.find(({ id }) => id === webhookId)
  assert.ok(found)
  return found
}

async function statesOf({ operator }: World): Promise<string[]> {
  const { read } = operator.db
  const rows = await read.selectFrom('webhook_deliveries').select('state').orderBy('seq').execute()
  return rows.map(({ state }) => state)
}

/** Runs nodes until the condition holds and nobody holds a lease. */
async function untilIdle(
  world: World,
  nodes: readonly DueDeliveries[],
  condition: () => Promise<boolean>,
): Promise<void> {
  await until(async () => {
    for (const node of nodes) await node.run()
    const { read } = world.operator.db
    const held = await read.selectFrom('webhook_endpoints').select('leased_by').execute()
    return held.every(({ leased_by }) => leased_by === null) && (await condition())
  })
}

const idsOf = ({ receiver }: World) => receiver.received.map(({ headers }) => headers['webhook-id'])

/** Runs a node until the endpoint has failed so often. */
async function untilFailures(world: World, node: DueDeliveries, count: number): Promise<void> {
  await untilIdle(world, [node], async () => {
    const { read } = world.operator.db
    const rows = await read.selectFrom('webhook_endpoints').select('failures').execute()
    return rows[0]?.failures === count
  })
}

test('of several nodes, each delivery is sent by one, in the order of the events', async (t) => {
  const world = await startWorld(t)
  const nodes = [world.node(), world.node(), world.node()]
  for (let i = 0; i < 20; i++) {
    await world.append()
    for (const node of nodes) void node.run()
  }
  await untilIdle(world, nodes, async () => world.receiver.received.length >= 20)
  const seqs = world.receiver.received.map((each) => payloadOf(each).data.seq)
  assert.equal(seqs.length, 20)
  assert.deepEqual(
    seqs,
    seqs.toSorted((a, b) => Number(a) - Number(b)),
  )
  assert.equal(new Set(idsOf(world)).size, 20)
})

test('attempts are further and further apart; after 3 days a delivery is given up, after 5 the endpoint', async (t) => {
  const world = await startWorld(t)
  const { clock, receiver, operator } = world
  const node = world.node()
  receiver.behaviour = 503
  const began = clock.ahead
  await world.append()
  const waits: number[] = []
  for (let failures = 1; (await statesOf(world))[0] !== 'failed'; failures++) {
    await untilFailures(world, node, failures)
    const { nextAttemptAt } = await endpointOf(world)
    const wait = Date.parse(nextAttemptAt ?? '') - world.deps.now()
    waits.push(wait)
    await node.run()
    assert.equal(receiver.received.length, failures, 'no attempt before it is due')
    clock.ahead += wait
  }
  const seconds = waits.slice(0, 8).map((wait) => wait / SECOND_MS)
  assert.deepEqual(seconds, [10, 40, 160, 640, 2560, 10_240, 21_600, 21_600])
  assert.ok(clock.ahead - began >= 3 * DAY_MS && clock.ahead - began < 3.6 * DAY_MS)
  assert.equal(new Set(idsOf(world)).size, 1)
  assert.equal((await endpointOf(world)).state, 'active')

  clock.ahead = began + 5 * DAY_MS + SECOND_MS
  await untilIdle(world, [node], async () => (await endpointOf(world)).state === 'disabled')
  assert.equal((await endpointOf(world)).disabledReason, 'failing')
  const notices = await operator.db.read.selectFrom('notifications').select('kind').execute()
  assert.deepEqual(notices.map(({ kind }) => kind).sort(), ['access_changed', 'webhook_disabled'])
  await world.append()
  await node.run()
  assert.deepEqual(await statesOf(world), ['failed'], 'a disabled endpoint gets no new events')
  assert.equal(node.outcomes.get('standard')?.get('gave_up'), 1)
  assert.equal(node.outcomes.get('standard')?.get('failed'), waits.length - 1)
})

test('a success within 5 days keeps the endpoint; what waited is delivered in order', async (t) => {
  const world = await startWorld(t)
  const { clock, receiver } = world
  const node = world.node()
  receiver.behaviour = 500
  await world.append('agent.suspended')
  await world.append('agent.reactivated')
  await untilFailures(world, node, 1)
  clock.ahead += 5 * DAY_MS - 60 * SECOND_MS
  receiver.behaviour = 200
  await untilIdle(world, [node], async () => receiver.received.length === 3)
  clock.ahead += DAY_MS
  await node.run()
  const { state, failingSince } = await endpointOf(world)
  assert.deepEqual([state, failingSince], ['active', null])
  const types = receiver.received.map((each) => payloadOf(each).type)
  assert.deepEqual(types, ['agent.suspended', 'agent.suspended', 'agent.reactivated'])
})

test('if a node dies between sending and recording, another sends again with the same webhook-id', async (t) => {
  const world = await startWorld(t)
  const { clock, deps, receiver, operator, webhookId } = world
  await world.append()
  // The node has sent it, and dies before it records that.
  const dead = world.node()
  await untilIdle(world, [dead], async () => receiver.received.length === 1)
  await dead.stop()
  await operator.db.write(async ({ db }) => {
    const untried = { state: 'pending', attempts: 0, attempted_at: null, status: null } as const
    await db.updateTable('webhook_deliveries').set(untried).execute()
    const lease = { leased_by: 'dead', held_until: deps.now() + 60 * SECOND_MS }
    await db.updateTable('webhook_endpoints').set(lease).where('id', '=', webhookId).execute()
  })
  const node = world.node()
  await node.run()
  assert.equal(receiver.received.length, 1, 'the lease is held')
  clock.ahead += 61 * SECOND_MS
  await untilIdle(world, [node], async () => receiver.received.length === 2)
  const [first, second] = idsOf(world)
  assert.equal(first, second)
  assert.deepEqual(await statesOf(world), ['delivered'])
})

test('a stop aborts a request in progress, which counts as no failure', async (t) => {
  const world = await startWorld(t)
  const { receiver } = world
  receiver.behaviour = () => undefined
  await world.append()
  const node = world.node()
  await until(async () => {
    await node.run()
    return receiver.received.length === 1
  })
  await node.stop()
  const { failingSince, pending } = await endpointOf(world)
  assert.deepEqual([failingSince, pending], [null, 1])
  receiver.behaviour = 204
  const next = world.node()
  await untilIdle(world, [next], async () => receiver.received.length === 2)
  assert.equal(new Set(idsOf(world)).size, 1)
})

test('an endpoint of the operator gets the events of all agents', async (t) => {
  const world = await startWorld(t)
  const grace = await world.operator.addVerifiedOwner('grace')
  const receiver = await startReceiver(t)
  await createEndpoint(world.deps, null, { url: receiver.url, eventTypes: ['agent.revoked'] })
  await world.append('agent.revoked')
  await world.append('agent.revoked', grace)
  await world.append('agent.claimed', grace)
  await world.append('owner.updated')
  const node = world.node()
  await untilIdle(world, [node], async () => receiver.received.length >= 2)
  const types = receiver.received.map((each) => payloadOf(each).type)
  assert.deepEqual(types, ['agent.revoked', 'agent.revoked'])
  assert.equal(world.receiver.received.length, 1, 'the owner gets their own')
  const states = await countEndpointStates(world.deps)
  assert.deepEqual(
    states.filter(({ count }) => count > 0),
    [
      { owner: 'owners', state: 'active', count: 1 },
      { owner: 'operator', state: 'active', count: 1 },
    ],
  )
})

test('the first endpoint gets no events from before; what waits is measured and bounded', async (t) => {
  const world = await startWorld(t)
  const { clock, deps, ownerId, webhookId, receiver } = world
  await changeEndpoint(deps, { ownerId, apiKey: null, membership: null }, webhookId, {
    state: 'paused',
  })
  for (let i = 0; i < 3; i++) await world.append()
  await fanOut(deps)
  assert.deepEqual(await measureWaiting(deps), { count: 0, oldestSeconds: 0, lateSeconds: 0 })
  await changeEndpoint(deps, { ownerId, apiKey: null, membership: null }, webhookId, {
    state: 'active',
  })
  clock.ahead += 100 * SECOND_MS
  const { count, oldestSeconds, lateSeconds } = await measureWaiting(deps)
  assert.equal(count, 3)
  assert.ok(oldestSeconds >= 100 && lateSeconds >= 100)

  await world.append()
  await fanOut(deps, 2)
  assert.deepEqual(await endpointOf(world).then((each) => each.disabledReason), 'backlog')
  // While nobody listens, nothing is read; afterwards nothing of it is delivered.
  await world.append()
  assert.equal(await fanOut(deps), false)
  await changeEndpoint(deps, { ownerId, apiKey: null, membership: null }, webhookId, {
    state: 'active',
  })
  await fanOut(deps)
  assert.equal((await statesOf(world)).length, 3)
  const node = world.node()
  await untilIdle(world, [node], async () => receiver.received.length >= 3)
  assert.equal(receiver.received.length, 3)
})

test('the log lists a delivery for 30 days', async (t) => {
  const world = await startWorld(t)
  await world.append()
  const node = world.node()
  await untilIdle(world, [node], async () => (await statesOf(world))[0] === 'delivered')
  world.clock.ahead += 29 * DAY_MS
  await world.node().run()
  assert.equal((await statesOf(world)).length, 1)
  world.clock.ahead += DAY_MS + SECOND_MS
  await world.node().run()
  assert.deepEqual(await statesOf(world), [])
})
