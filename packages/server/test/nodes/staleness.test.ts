import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newKey } from '../../../../test/support/key.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  postJson,
  startTestService,
  testEnv,
} from '../../../../test/support/service.ts'
import { startStallingProxy } from '../../../../test/support/stalling-proxy.ts'
import { until } from '../../../../test/support/until.ts'
import { readSettings } from '../../src/config/config.ts'

const BOUND_MS = 2000

test(
  'a node without contact to the database for longer than MAX_STALENESS answers 503, until contact is back',
  POSTGRES_ONLY,
  async (t) => {
    const env = await testEnv(t, { MAX_STALENESS: '2' })
    const proxy = await startStallingProxy(t, env.DATABASE_URL as string)
    const node = await startTestService(t, { ...env, DATABASE_URL: proxy.url })
    const key = newKey()
    const did = await claimAgent(node, await node.operator.addVerifiedOwner(), key)
    const challenge = 'is it you?'
    const proof = { publicKey: key.publicKey, challenge, signature: key.sign(challenge) }
    const lookup = async () => {
      const response = await fetch(`${node.url}/api/v1/agent/${did}`)
      const body = (await response.json()) as Partial<Record<'certificate' | 'error', Answer>>
      return body.certificate?.status ?? `${response.status} ${body.error?.code}`
    }
    const verify = async () => (await postJson(`${node.url}/api/v1/agent/verify`, proof)).status
    assert.equal(await lookup(), 'active')
    assert.equal(await verify(), 200)

    proxy.pause()
    const pausedAt = performance.now()
    const direct = { ...env, PORT: '0' }
    const revoked = await countersignd(direct, 'agent', 'revoke', did)
    assert.equal(revoked.code, 0, revoked.stderr)
    // Until MAX_STALENESS has passed, it may still answer from memory.
    await until(async () => {
      const begun = performance.now()
      const answer = await lookup()
      assert.ok(
        answer !== 'active' || begun - pausedAt < BOUND_MS,
        'answered from memory after MAX_STALENESS',
      )
      return answer !== 'active'
    }, 20_000)
    assert.equal(await lookup(), '503 UNAVAILABLE')
    assert.equal(await verify(), 503)
    assert.equal((await fetch(`${node.url}/api/agents/${did}/card`)).status, 503)
    assert.ok(performance.now() - pausedAt > 1000, 'a short silence must not cause 503')
    await sleep(500)
    assert.equal(await lookup(), '503 UNAVAILABLE', 'it must stay 503')

    proxy.resume()
    await until(async () => (await lookup()) === 'revoked', 20_000)
    proxy.cut()
    await until(async () => (await lookup()) === 'revoked', 20_000)
    assert.equal(readSettings(env).maxStalenessSeconds * 1000, BOUND_MS)
  },
)

interface Answer {
  readonly status?: string
  readonly code?: string
}
