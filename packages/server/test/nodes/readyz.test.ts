import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { POSTGRES_ONLY, SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import { claimAgent, startTestService, testEnv } from '../../../../test/support/service.ts'
import { startStallingProxy } from '../../../../test/support/stalling-proxy.ts'
import { until } from '../../../../test/support/until.ts'

test(
  '/readyz reports a SQLite database with its position and staleness',
  SQLITE_ONLY,
  async (t) => {
    const node = await startTestService(t)
    await claimAgent(node, await node.operator.addVerifiedOwner())
    const { last } = await node.operator.db.read
      .selectFrom('events')
      .select((eb) => eb.fn.max('seq').as('last'))
      .executeTakeFirstOrThrow()
    await untilLogged(node, 1)
    const response = await fetch(`${node.url}/readyz`)
    assert.deepEqual(await response.json(), {
      status: 'ok',
      database: {
        kind: 'sqlite',
        role: 'file',
        position: last,
        staleness: 0,
        commits: { waitFor: 'disk', satisfied: true },
        standbys: [],
        replica: 'none',
      },
      log: { state: 'ok', size: 1, code: null, problem: null, witnesses: [] },
    })
    assert.equal(response.headers.get('cache-control'), 'no-store')
  },
)

test(
  'if the database hangs, /readyz still answers: first `unreachable`, then 503',
  POSTGRES_ONLY,
  async (t) => {
    const env = await testEnv(t, { MAX_STALENESS: '4' })
    const proxy = await startStallingProxy(t, env.DATABASE_URL as string)
    const node = await startTestService(t, { ...env, DATABASE_URL: proxy.url })
    const ready = async () => {
      const response = await fetch(`${node.url}/readyz`, { signal: AbortSignal.timeout(10_000) })
      const body = (await response.json()) as Body
      return { ...body, status: response.status }
    }
    const first = await ready()
    assert.equal(first.status, 200)
    assert.equal(first.database?.role, 'primary')
    assert.equal(first.database?.kind, 'postgres')
    assert.ok((first.database?.staleness ?? Number.NaN) <= 4000)
    proxy.pause()
    await until(async () => (await ready()).database?.role === 'unreachable', 20_000)
    await until(async () => (await ready()).status === 503, 20_000)
    const refused = await ready()
    assert.equal(refused.error?.code, 'UNAVAILABLE')
    assert.match(refused.error?.message ?? '', /had no news of the database for \d+ ms/)
    proxy.resume()
    await until(async () => (await ready()).status === 200, 20_000)
  },
)

interface Body {
  readonly database?: { readonly kind: string; readonly role: string; readonly staleness: number }
  readonly error?: { readonly code: string; readonly message: string }
}
