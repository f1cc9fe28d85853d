import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { POSTGRES_ONLY, type PostgresServer } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  claimBody,
  countersignd,
  postJson,
  startTestService,
} from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { databaseAt, on, startPair } from './support.ts'

async function start(t: TestContext) {
  const pair = await startPair(t)
  const node = await startTestService(t, { DATABASE_URL: databaseAt(pair.primary) })
  return { ...pair, node }
}

async function waitFor(primary: PostgresServer, names: string): Promise<void> {
  await on(primary, `alter system set synchronous_standby_names = '${names}'`)
  await on(primary, 'select pg_reload_conf()')
}

const WAITING = "from pg_stat_activity where wait_event = 'SyncRep' and query like '%commit_marks%'"

/** Cancels all waits for a standby until the work is done: the service writes by itself too, one transaction after another. */
async function cancellingWaits<T>(primary: PostgresServer, work: Promise<T>): Promise<T> {
  const state = { isDone: false }
  const done = work.finally(() => {
    state.isDone = true
  })
  done.catch(() => undefined)
  await until(async () => {
    await on(primary, `select pg_cancel_backend(pid) ${WAITING}`)
    return state.isDone
  })
  return done
}

async function databaseOf({ url }: { readonly url: string }) {
  const body = (await (await fetch(`${url}/readyz`)).json()) as { database: Report }
  return body.database
}

interface Report {
  readonly role: string
  readonly commits: { readonly waitFor: string; readonly satisfied: boolean | null }
  readonly standbys: readonly { readonly name: string; readonly state: string; sync: string }[]
}

test(
  'a claim whose wait for the standby is cancelled answers 503, and becomes visible if it was committed',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby, node } = await start(t)
    const owner = await node.operator.addVerifiedOwner()
    const did = await claimAgent(node, owner)
    const token = await node.operator.issueToken(owner)
    // Nothing but the claim is to be written next.
    await untilLogged(node, 1)
    await waitFor(primary, 'standby')
    await until(async () => (await databaseOf(node)).commits.satisfied === true, 30_000)
    await standby.stop()

    const key = newKey()
    const claimed = postJson(`${node.url}/api/v1/claim`, claimBody(token, key))
    const byKey = encodeURIComponent(key.publicKey)
    await until(async () => (await on(primary, `select 1 ${WAITING}`)).length > 0, 30_000)
    const before = await fetch(`${node.url}/api/v1/agent/${byKey}`)
    assert.equal(before.status, 404, 'uncommitted claims must not be visible')
    const answer = await cancellingWaits(primary, claimed)
    assert.equal(answer.status, 503)
    const { error } = (await answer.json()) as { error: { code: string; message: string } }
    assert.equal(error.code, 'UNAVAILABLE')
    assert.match(error.message, /may or may not have been made/)
    const show = async () => (await fetch(`${node.url}/api/v1/agent/${byKey}`)).status === 200
    await until(show, 30_000)
    const again = await postJson(`${node.url}/api/v1/claim`, claimBody(token, key))
    assert.equal(
      again.status,
      410,
      'the token is used, because the primary has committed the claim',
    )

    const revoked = countersignd({ ...node.env, PORT: '0' }, 'agent', 'revoke', did)
    const { code, stderr } = await cancellingWaits(primary, revoked)
    assert.equal(code, 5, 'a revocation only on the primary must not be reported as done')
    assert.match(stderr, /Committed with a warning/)
    await until(async () => {
      const response = await fetch(`${node.url}/api/v1/agent/${did}`)
      return ((await response.json()) as { verified?: boolean }).verified === false
    }, 30_000)
    await waitFor(primary, '')
  },
)

test(
  '/readyz reports what commits wait for, and whether it is available',
  POSTGRES_ONLY,
  async (t) => {
    const { primary, standby, node } = await start(t)
    const isStandby = async (sync: string) => {
      const { standbys } = await databaseOf(node)
      return standbys.some(
        (each) => each.name === 'standby' && each.state === 'streaming' && each.sync === sync,
      )
    }
    const commits = async () => (await databaseOf(node)).commits
    const reports = (waitFor: string, satisfied: boolean | null) => async () => {
      const now = await commits()
      return now.waitFor === waitFor && now.satisfied === satisfied
    }
    await until(() => isStandby('async'), 30_000)
    assert.deepEqual(await commits(), { waitFor: 'disk', satisfied: true })

    await waitFor(primary, 'standby')
    await until(() => isStandby('sync'), 30_000)
    assert.deepEqual(await commits(), { waitFor: 'standby', satisfied: true })
    await waitFor(primary, 'ANY 1 (standby, other)')
    await until(() => isStandby('quorum'), 30_000)
    assert.deepEqual(await commits(), { waitFor: 'standby', satisfied: true })
    await waitFor(primary, 'FIRST 2 (standby, other)')
    await until(reports('standby', false), 30_000)

    await waitFor(primary, 'standby')
    await until(reports('standby', true), 30_000)
    await on(primary, 'alter system set synchronous_commit = local')
    await on(primary, 'select pg_reload_conf()')
    await until(reports('disk', true), 30_000)
    await on(primary, 'alter system reset synchronous_commit')
    await on(primary, 'select pg_reload_conf()')
    await until(reports('standby', true), 30_000)
    await standby.stop()
    await until(reports('standby', false), 30_000)
    const text = await (await fetch(`${node.url}/readyz`)).text()
    assert.ok(!text.includes('127.0.0.1') && !text.includes('countersign_template'), text)
    await waitFor(primary, '')
  },
)

test(
  'without the right to see standbys, /readyz reports unknown, and the service works',
  POSTGRES_ONLY,
  async (t) => {
    const { primary } = await startPair(t)
    await on(
      primary,
      `create role clerk login; grant all on schema public to clerk;
      grant all on all tables in schema public to clerk;
      revoke execute on function pg_walfile_name(pg_lsn) from public`,
    )
    const url = new URL(databaseAt(primary))
    url.username = 'clerk'
    const node = await startTestService(t, { DATABASE_URL: url.href })
    await claimAgent(node, await node.operator.addVerifiedOwner())
    await waitFor(primary, 'standby')
    await until(async () => (await databaseOf(node)).commits.waitFor === 'standby', 30_000)
    assert.deepEqual((await databaseOf(node)).commits, { waitFor: 'standby', satisfied: null })
    assert.deepEqual((await databaseOf(node)).standbys, [])
    await waitFor(primary, '')
  },
)
