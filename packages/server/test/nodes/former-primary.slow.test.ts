import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { POSTGRES_ONLY, type PostgresServer } from '../../../../test/support/postgres.ts'
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
import {
  databaseAt,
  lastEvent,
  lookedUp,
  on,
  type Pair,
  startPair,
  stopReplication,
} from './support.ts'

interface Setup extends Pair {
  /** Configured with both hosts. */
  readonly node: TestService
  readonly dids: readonly [string, string]
}

async function start(t: TestContext): Promise<Setup> {
  const { primary, standby } = await startPair(t)
  const node = await startTestService(t, { DATABASE_URL: databaseAt(primary, standby) })
  const owner = await node.operator.addVerifiedOwner()
  const dids = [await claimAgent(node, owner), await claimAgent(node, owner)] as const
  const last = await lastEvent(primary)
  await until(async () => (await lastEvent(standby)) === last, 30_000)
  return { primary, standby, node, dids }
}

async function promote(server: PostgresServer): Promise<void> {
  const [promoted] = await on(server, 'select pg_promote() as done')
  assert.equal(promoted?.done, true)
}

/** Runs `countersignd` on one server directly. */
async function runAt(server: PostgresServer, { env }: TestService, ...args: string[]) {
  const done = await countersignd({ ...env, DATABASE_URL: databaseAt(server), PORT: '0' }, ...args)
  assert.equal(done.code, 0, done.stderr)
}

async function operatorAt(t: Cleanup, server: PostgresServer, { env }: TestService) {
  const operator = await openOperator(readSettings({ ...env, DATABASE_URL: databaseAt(server) }))
  t.after(() => operator.close())
  return operator
}

test(
  'a node switches to the promoted standby even if the former primary still answers',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby, node, dids } = await start(t)
    const [revoked, other] = dids
    await promote(standby)
    await runAt(standby, node, 'agent', 'revoke', revoked)
    await until(async () => (await lookedUp(node, revoked)) === 'revoked', 30_000)
    assert.equal(await lookedUp(node, other), 'active')
    const operator = await operatorAt(t, standby, node)
    const did = await claimAgent({ ...node, operator }, await operator.addVerifiedOwner())
    const tail = `select 1 from agents where tail = '${did.slice(-24)}'`
    assert.equal((await on(standby, tail)).length, 1, 'the node writes to the new primary')
    assert.equal((await on(primary, tail)).length, 0)
    assert.equal(await lookedUp(node, did), 'active')
  },
)

test(
  'after a failover, the node drops lost events and reads those that replaced them under the same numbers',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby, node, dids } = await start(t)
    const [first, second] = dids
    await stopReplication({ primary, standby })
    const owner = await node.operator.addVerifiedOwner()
    const lost = await claimAgent(node, owner)
    await runAt(primary, node, 'agent', 'revoke', first)
    await until(async () => (await lookedUp(node, first)) === 'revoked', 30_000)
    const position = await lastEvent(primary)

    process.kill(primary.pid, 'SIGKILL')
    await promote(standby)
    await runAt(standby, node, 'agent', 'revoke', second)
    assert.ok((await lastEvent(standby)) < position, 'the node had read further events')
    await until(async () => (await lookedUp(node, second)) === 'revoked', 30_000)
    assert.equal(await lookedUp(node, first), 'active', 'the lost revocation must be gone')
    assert.equal(await lookedUp(node, lost), 404)
    const operator = await operatorAt(t, standby, node)
    const did = await claimAgent({ ...node, operator }, await operator.addVerifiedOwner())
    assert.equal(await lookedUp(node, did), 'active')
  },
)
