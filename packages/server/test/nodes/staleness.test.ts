import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  postJson,
  startTestService,
  testEnv,
} from '../../../../test/support/service.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import { startStallingProxy } from '../../../../test/support/stalling-proxy.ts'
import { until } from '../../../../test/support/until.ts'
import { readSettings } from '../../src/base/config.ts'

const BOUND_MS = 2000

test(
  'a node without contact to the database for longer than MAX_STALENESS answers 503, until contact is back',
  POSTGRES_ONLY,
  async (t) => {
    const env = await testEnv(t, { MAX_STALENESS: '2' })
    const proxy = await startStallingProxy(t, env.DATABASE_URL as string)
    // It stands still until the test moves it: nothing is stale because a machine is slow.
    let elapsed = 0
    const node = await startTestService(
      t,
      { ...env, DATABASE_URL: proxy.url },
      Date.now,
      () => elapsed,
    )
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
    const verifySigned = async () => {
      const audience = 'https://shop.example'
      const url = `${audience}/`
      const headers = await signedHeaders(node, did, key, { url })
      const request = { method: 'GET', url, headers, audience }
      return (await postJson(`${node.url}/api/v1/verify-request`, request)).status
    }
    assert.equal(await lookup(), 'active')
    assert.equal(await verify(), 200)
    assert.equal(await verifySigned(), 200)

    proxy.pause()
    const direct = { ...env, PORT: '0' }
    const revoked = await countersignd(direct, 'agent', 'revoke', did)
    assert.equal(revoked.code, 0, revoked.stderr)
    assert.equal(await lookup(), 'active', 'a short silence must not cause 503')
    elapsed = BOUND_MS
    assert.equal(
      await lookup(),
      'active',
      'until MAX_STALENESS has passed, it may answer from memory',
    )
    elapsed = BOUND_MS + 1
    assert.equal(await lookup(), '503 UNAVAILABLE', 'after MAX_STALENESS it must refuse')
    assert.equal(await verify(), 503)
    assert.equal(await verifySigned(), 503)
    assert.equal((await fetch(`${node.url}/agent/${did}/jwks.json`)).status, 503)
    assert.equal((await fetch(`${node.url}/api/agents/${did}/card`)).status, 503)
    elapsed += 60_000
    node.tick()
    assert.equal(await lookup(), '503 UNAVAILABLE', 'it must stay 503')

    proxy.resume()
    await until(async () => (await lookup()) === 'revoked')
    proxy.cut()
    await until(async () => (await lookup()) === 'revoked')
    assert.equal(readSettings(env).maxStalenessSeconds * 1000, BOUND_MS)
  },
)

interface Answer {
  readonly status?: string
  readonly code?: string
}
