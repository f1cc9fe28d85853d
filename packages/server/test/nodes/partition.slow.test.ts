import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  openOperator,
  startTestService,
  testEnv,
} from '../../../../test/support/service.ts'
import { startStallingProxy } from '../../../../test/support/stalling-proxy.ts'
import { until } from '../../../../test/support/until.ts'
import { readSettings } from '../../src/base/config.ts'

/** A request that waits for the silent database would take longer. */
const SOON_MS = 30_000

test(
  'while the network drops all packets, lookups answer 503; afterwards they are correct again',
  POSTGRES_ONLY,
  async (t) => {
    const env = await testEnv(t, { READ_MODEL_AGENTS: '1', MAX_STALENESS: '2' })
    const proxy = await startStallingProxy(t, env.DATABASE_URL as string)
    const node = await startTestService(t, { ...env, DATABASE_URL: proxy.url })
    // Connected directly, not through the proxy.
    const operator = await openOperator(readSettings(env))
    t.after(() => operator.close())
    const owner = await operator.addVerifiedOwner()
    const dids: string[] = []
    for (let i = 0; i < 3; i++) dids.push(await claimAgent(node, owner))
    const lookup = async (did: string) => {
      const signal = AbortSignal.timeout(SOON_MS)
      const response = await fetch(`${node.url}/api/v1/agent/${did}`, { signal })
      const body = (await response.json()) as { certificate?: { status: string } }
      return body.certificate?.status ?? response.status
    }
    const lookups = () => Promise.all(dids.map(lookup))
    assert.deepEqual(await lookups(), ['active', 'active', 'active'])

    for (let round = 0; round < 2; round++) {
      proxy.drop()
      const [revoked] = dids.splice(0, 1) as [string]
      // Two of the three agents are not in memory. Their lookups must not wait until the network is back.
      const meanwhile = await lookups()
      assert.ok(
        meanwhile.every((each) => each === 'active' || each === 503),
        `${meanwhile}`,
      )
      const direct = { ...env, PORT: '0' }
      assert.equal((await countersignd(direct, 'agent', 'revoke', revoked)).code, 0)
      await until(async () => (await lookup(revoked)) === 503, SOON_MS)
      const tried = proxy.connections()
      await until(async () => proxy.connections() > tried + 2)
      assert.ok((await lookups()).every((each) => each === 503))
      const ready = await fetch(`${node.url}/readyz`, { signal: AbortSignal.timeout(SOON_MS) })
      assert.equal(ready.status, 503)

      proxy.resume()
      await until(async () => (await lookup(revoked)) === 'revoked')
      await until(async () => (await lookups()).every((each) => each === 'active'))
      await until(async () => (await fetch(`${node.url}/readyz`)).status === 200)
      dids.push(await claimAgent({ ...node, operator }, owner))
    }
  },
)
