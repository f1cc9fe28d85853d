import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import {
  POSTGRES_ONLY,
  type PostgresServer,
  query,
  startPostgres,
  startStandby,
} from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  postJson,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { startStallingProxy } from '../../../../test/support/stalling-proxy.ts'
import { until } from '../../../../test/support/until.ts'

const DATABASE = 'countersign_template'

interface Ground {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** A way to the standby that can be blocked. */
  readonly way: Awaited<ReturnType<typeof startStallingProxy>>
  /** Holds one agent in memory, and asks for the others. */
  readonly node: TestService
  readonly owner: number
}

async function start(t: TestContext): Promise<Ground> {
  const primary = await startPostgres()
  t.after(() => primary.stop())
  const standby = await startStandby(primary)
  t.after(() => standby.stop())
  const way = await startStallingProxy(t, `${standby.url}/${DATABASE}`)
  const node = await startTestService(t, {
    DATABASE_URL: `${primary.url}/${DATABASE}`,
    REPLICA_URL: way.url,
    READ_MODEL_AGENTS: '1',
  })
  return { primary, standby, way, node, owner: await node.operator.addVerifiedOwner() }
}

const on = (server: PostgresServer, text: string) => query(`${server.url}/${DATABASE}`, text)

async function lastEvent(server: PostgresServer): Promise<number> {
  return Number((await on(server, 'select max(seq) as last from events'))[0]?.last)
}

/** Until the standby shows all that the primary does. */
async function caughtUp({ primary, standby }: Ground): Promise<void> {
  const last = await lastEvent(primary)
  await until(async () => (await lastEvent(standby)) >= last, 30_000)
}

async function pauseReplay({ standby }: Ground): Promise<void> {
  await on(standby, 'select pg_wal_replay_pause()')
  const asked = 'select pg_get_wal_replay_pause_state() as state'
  await until(async () => (await on(standby, asked))[0]?.state === 'paused', 30_000)
}

/** How often a server has looked for agents in an index. */
async function agentReads(server: PostgresServer): Promise<number> {
  const scans = "select idx_scan from pg_stat_user_tables where relname = 'agents'"
  return Number((await on(server, scans))[0]?.idx_scan)
}

async function statusOf({ url }: TestService, did: string): Promise<unknown> {
  const response = await fetch(`${url}/api/v1/agent/${did}`)
  const body = (await response.json()) as { certificate?: { status: string } }
  return body.certificate?.status ?? response.status
}

async function readings(node: TestService, dids: readonly string[], rounds: number) {
  const seen: unknown[] = []
  for (let i = 0; i < rounds; i++) for (const did of dids) seen.push(await statusOf(node, did))
  return seen
}

/** The counters of a server tell of a read a while after it. */
async function assertServes(ground: Ground, dids: readonly string[]): Promise<void> {
  const before = await agentReads(ground.standby)
  await until(async () => {
    await readings(ground.node, dids, 5)
    return (await agentReads(ground.standby)) >= before + 10
  }, 60_000)
}

test(
  'a replica answers lookups while it shows every change that the node knows of, and not a moment longer',
  POSTGRES_ONLY,
  async (t) => {
    const ground = await start(t)
    const { primary, standby, node, owner } = ground
    const key = newKey()
    const dids = [await claimAgent(node, owner, key)]
    for (let i = 0; i < 2; i++) dids.push(await claimAgent(node, owner))
    await caughtUp(ground)
    const before = await agentReads(primary)
    await assertServes(ground, dids)
    assert.ok((await agentReads(primary)) <= before + 10, 'the primary was asked as well')

    await pauseReplay(ground)
    const fresh = await claimAgent(node, owner)
    assert.equal(await statusOf(node, fresh), 'active', 'what the replica lacks the primary has')
    await assertServes(ground, dids)

    const [revoked = '', ...others] = dids
    const direct = { ...node.env, PORT: '0' }
    assert.equal((await countersignd(direct, 'agent', 'revoke', revoked)).code, 0)
    await until(async () => (await statusOf(node, revoked)) === 'revoked', 30_000)
    const [old] = await on(
      standby,
      `select status from agents where tail = '${revoked.slice(-24)}'`,
    )
    assert.equal(old?.status, 'active', 'the replica says so still')
    for (const [i, status] of (await readings(node, [revoked, ...others], 20)).entries())
      assert.equal(status, i % 3 === 0 ? 'revoked' : 'active')
    const challenge = 'is it you?'
    const proof = { publicKey: key.publicKey, challenge, signature: key.sign(challenge) }
    const verified = await postJson(`${node.url}/api/v1/agent/verify`, proof)
    assert.equal(((await verified.json()) as { verified: boolean }).verified, false)

    await on(standby, 'select pg_wal_replay_resume()')
    await caughtUp(ground)
    await assertServes(ground, dids)
    assert.equal(await statusOf(node, revoked), 'revoked')
  },
)

test('a replica that hangs, is cut off or has ended costs no answer', POSTGRES_ONLY, async (t) => {
  const ground = await start(t)
  const { node, way, standby, owner } = ground
  const dids = [await claimAgent(node, owner), await claimAgent(node, owner)]
  await caughtUp(ground)
  await assertServes(ground, dids)
  const answers = async () =>
    assert.deepEqual(new Set(await readings(node, dids, 10)), new Set(['active']))
  way.pause()
  await answers()
  way.cut()
  await answers()
  way.resume()
  await assertServes(ground, dids)
  await standby.stop()
  await answers()
})

test(
  'a replica with another history is asked nothing, however far it has come',
  POSTGRES_ONLY,
  async (t) => {
    const ground = await start(t)
    const { node, standby, owner } = ground
    const [revoked, other] = [await claimAgent(node, owner), await claimAgent(node, owner)]
    await caughtUp(ground)
    await assertServes(ground, [revoked, other])
    await on(standby, 'select pg_promote()')
    const apart = {
      ...node.env,
      PORT: '0',
      DATABASE_URL: `${standby.url}/${DATABASE}`,
      REPLICA_URL: '',
    }
    for (const command of ['suspend', 'reactivate', 'suspend'])
      assert.equal((await countersignd(apart, 'agent', command, other)).code, 0)
    const direct = { ...node.env, PORT: '0' }
    assert.equal((await countersignd(direct, 'agent', 'revoke', revoked)).code, 0)
    await until(async () => (await statusOf(node, revoked)) === 'revoked', 30_000)
    for (const [i, status] of (await readings(node, [revoked, other], 20)).entries())
      assert.equal(status, i % 2 === 0 ? 'revoked' : 'active')
  },
)
