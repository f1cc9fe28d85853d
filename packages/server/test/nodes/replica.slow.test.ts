import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { POSTGRES_ONLY, type PostgresServer } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  postJson,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { startStallingProxy } from '../../../../test/support/stalling-proxy.ts'
import { until } from '../../../../test/support/until.ts'
import { databaseAt, lastEvent, lookedUp, on, type Pair, startPair } from './support.ts'

interface Setup extends Pair {
  /** In front of the standby. */
  readonly proxy: Awaited<ReturnType<typeof startStallingProxy>>
  /** Has room for one agent in memory, and reads the others from the database. */
  readonly node: TestService
  readonly owner: number
}

async function start(t: TestContext): Promise<Setup> {
  const { primary, standby } = await startPair(t)
  const proxy = await startStallingProxy(t, databaseAt(standby))
  const node = await startTestService(t, {
    DATABASE_URL: databaseAt(primary),
    REPLICA_URL: proxy.url,
    READ_MODEL_AGENTS: '1',
  })
  return { primary, standby, proxy, node, owner: await node.operator.addVerifiedOwner() }
}

/** Waits until the standby has replayed all events of the primary. */
async function caughtUp({ primary, standby }: Setup): Promise<void> {
  const last = await lastEvent(primary)
  await until(async () => (await lastEvent(standby)) >= last, 30_000)
}

async function pauseReplay({ standby }: Setup): Promise<void> {
  await on(standby, 'select pg_wal_replay_pause()')
  const asked = 'select pg_get_wal_replay_pause_state() as state'
  await until(async () => (await on(standby, asked))[0]?.state === 'paused', 30_000)
}

/** The number of index scans of `agents` on a server. */
async function agentReads(server: PostgresServer): Promise<number> {
  const scans = "select idx_scan from pg_stat_user_tables where relname = 'agents'"
  return Number((await on(server, scans))[0]?.idx_scan)
}

async function readings(node: TestService, dids: readonly string[], rounds: number) {
  const seen: unknown[] = []
  for (let i = 0; i < rounds; i++) for (const did of dids) seen.push(await lookedUp(node, did))
  return seen
}

/** Asserts that the standby serves reads. A server's statistics lag behind. */
async function assertServes(setup: Setup, dids: readonly string[]): Promise<void> {
  const before = await agentReads(setup.standby)
  await until(async () => {
    await readings(setup.node, dids, 5)
    return (await agentReads(setup.standby)) >= before + 10
  }, 60_000)
}

test(
  'a replica answers lookups only while it has replayed every change that the node knows',
  POSTGRES_ONLY,
  async (t) => {
    const setup = await start(t)
    const { primary, standby, node, owner } = setup
    const key = newKey()
    const dids = [await claimAgent(node, owner, key)]
    for (let i = 0; i < 2; i++) dids.push(await claimAgent(node, owner))
    await caughtUp(setup)
    const before = await agentReads(primary)
    await assertServes(setup, dids)
    assert.ok((await agentReads(primary)) <= before + 10, 'the primary was read as well')

    await pauseReplay(setup)
    const fresh = await claimAgent(node, owner)
    assert.equal(
      await lookedUp(node, fresh),
      'active',
      'read from the primary, because the replica lacks it',
    )
    await assertServes(setup, dids)

    const [revoked = '', ...others] = dids
    const direct = { ...node.env, PORT: '0' }
    assert.equal((await countersignd(direct, 'agent', 'revoke', revoked)).code, 0)
    await until(async () => (await lookedUp(node, revoked)) === 'revoked', 30_000)
    const [old] = await on(
      standby,
      `select status from agents where tail = '${revoked.slice(-24)}'`,
    )
    assert.equal(old?.status, 'active', 'the replica must still be behind')
    for (const [i, status] of (await readings(node, [revoked, ...others], 20)).entries())
      assert.equal(status, i % 3 === 0 ? 'revoked' : 'active')
    const challenge = 'is it you?'
    const proof = { publicKey: key.publicKey, challenge, signature: key.sign(challenge) }
    const verified = await postJson(`${node.url}/api/v1/agent/verify`, proof)
    assert.equal(((await verified.json()) as { verified: boolean }).verified, false)

    await on(standby, 'select pg_wal_replay_resume()')
    await caughtUp(setup)
    await assertServes(setup, dids)
    assert.equal(await lookedUp(node, revoked), 'revoked')
  },
)

test(
  'lookups succeed while the replica hangs, is disconnected or stopped',
  POSTGRES_ONLY,
  async (t) => {
    const setup = await start(t)
    const { node, proxy, standby, owner } = setup
    const dids = [await claimAgent(node, owner), await claimAgent(node, owner)]
    await caughtUp(setup)
    await assertServes(setup, dids)
    const answers = async () =>
      assert.deepEqual(new Set(await readings(node, dids, 10)), new Set(['active']))
    proxy.pause()
    await answers()
    proxy.cut()
    await answers()
    proxy.resume()
    await assertServes(setup, dids)
    await standby.stop()
    await answers()
  },
)

test(
  'a replica with a diverged history is never read, even if it has more events',
  POSTGRES_ONLY,
  async (t) => {
    const setup = await start(t)
    const { node, standby, owner } = setup
    const [revoked, other] = [await claimAgent(node, owner), await claimAgent(node, owner)]
    await caughtUp(setup)
    await assertServes(setup, [revoked, other])
    await on(standby, 'select pg_promote()')
    const apart = {
      ...node.env,
      PORT: '0',
      DATABASE_URL: databaseAt(standby),
      REPLICA_URL: '',
    }
    for (const command of ['suspend', 'reactivate', 'suspend'])
      assert.equal((await countersignd(apart, 'agent', command, other)).code, 0)
    const direct = { ...node.env, PORT: '0' }
    assert.equal((await countersignd(direct, 'agent', 'revoke', revoked)).code, 0)
    await until(async () => (await lookedUp(node, revoked)) === 'revoked', 30_000)
    for (const [i, status] of (await readings(node, [revoked, other], 20)).entries())
      assert.equal(status, i % 2 === 0 ? 'revoked' : 'active')
  },
)
