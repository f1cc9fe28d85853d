import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  POSTGRES_ONLY,
  type PostgresServer,
  query,
  startPostgres,
  startStandby,
} from '../../../../test/support/postgres.ts'
import {
  type Cleanup,
  claimAgent,
  countersignd,
  openOperator,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { readSettings } from '../../src/base/config.ts'

const DATABASE = 'countersign_template'

interface Setup {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** Configured with both hosts. */
  readonly node: TestService
  readonly dids: readonly [string, string]
}

async function start(t: TestContext): Promise<Setup> {
  const primary = await startPostgres()
  t.after(() => primary.stop())
  const standby = await startStandby(primary)
  t.after(() => standby.stop())
  const hosts = [primary, standby].map(({ url }) => new URL(url).host).join()
  const DATABASE_URL = `postgres://postgres@${hosts}/${DATABASE}`
  const node = await startTestService(t, { DATABASE_URL })
  const owner = await node.operator.addVerifiedOwner()
  const dids = [await claimAgent(node, owner), await claimAgent(node, owner)] as const
  const last = await lastEvent(primary)
  await until(async () => (await lastEvent(standby)) === last, 30_000)
  return { primary, standby, node, dids }
}

const on = ({ url }: PostgresServer, text: string) => query(`${url}/${DATABASE}`, text)

async function lastEvent(server: PostgresServer): Promise<number> {
  return Number((await on(server, 'select max(seq) as last from events'))[0]?.last)
}

async function promote(server: PostgresServer): Promise<void> {
  const [promoted] = await on(server, 'select pg_promote() as done')
  assert.equal(promoted?.done, true)
}

/** Runs `countersignd` on one server directly. */
async function runAt({ url }: PostgresServer, { env }: TestService, ...args: string[]) {
  const done = await countersignd(
    { ...env, DATABASE_URL: `${url}/${DATABASE}`, PORT: '0' },
    ...args,
  )
  assert.equal(done.code, 0, done.stderr)
}

async function operatorAt(t: Cleanup, { url }: PostgresServer, { env }: TestService) {
  const operator = await openOperator(readSettings({ ...env, DATABASE_URL: `${url}/${DATABASE}` }))
  t.after(() => operator.close())
  return operator
}

async function statusOf({ url }: TestService, did: string): Promise<unknown> {
  const response = await fetch(`${url}/api/v1/agent/${did}`)
  const body = (await response.json()) as { certificate?: { status: string } }
  return body.certificate?.status ?? response.status
}

test(
  'a node switches to the promoted standby even if the former primary still answers',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby, node, dids } = await start(t)
    const [revoked, other] = dids
    await promote(standby)
    await runAt(standby, node, 'agent', 'revoke', revoked)
    await until(async () => (await statusOf(node, revoked)) === 'revoked', 30_000)
    assert.equal(await statusOf(node, other), 'active')
    const operator = await operatorAt(t, standby, node)
    const did = await claimAgent({ ...node, operator }, await operator.addVerifiedOwner())
    const tail = `select 1 from agents where tail = '${did.slice(-24)}'`
    assert.equal((await on(standby, tail)).length, 1, 'the node writes to the new primary')
    assert.equal((await on(primary, tail)).length, 0)
    assert.equal(await statusOf(node, did), 'active')
  },
)

test(
  'after a failover, the node drops lost events and reads those that replaced them under the same numbers',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby, node, dids } = await start(t)
    const [first, second] = dids
    await on(standby, "alter system set primary_conninfo = ''")
    await on(standby, 'select pg_reload_conf()')
    await until(
      async () => (await on(primary, 'select 1 from pg_stat_replication')).length === 0,
      30_000,
    )
    const owner = await node.operator.addVerifiedOwner()
    const lost = await claimAgent(node, owner)
    await runAt(primary, node, 'agent', 'revoke', first)
    await until(async () => (await statusOf(node, first)) === 'revoked', 30_000)
    const position = await lastEvent(primary)

    process.kill(primary.pid, 'SIGKILL')
    await promote(standby)
    await runAt(standby, node, 'agent', 'revoke', second)
    assert.ok((await lastEvent(standby)) < position, 'the node had read further events')
    await until(async () => (await statusOf(node, second)) === 'revoked', 30_000)
    assert.equal(await statusOf(node, first), 'active', 'the lost revocation must be gone')
    assert.equal(await statusOf(node, lost), 404)
    const operator = await operatorAt(t, standby, node)
    const did = await claimAgent({ ...node, operator }, await operator.addVerifiedOwner())
    assert.equal(await statusOf(node, did), 'active')
  },
)
