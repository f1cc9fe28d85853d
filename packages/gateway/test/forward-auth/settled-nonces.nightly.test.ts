import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRedis } from '../../../../test/support/redis.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { needs } from '../../../../test/support/tools.ts'
import { until } from '../../../../test/support/until.ts'
import { startGateway } from '../support/gateway-process.ts'
import { SHOP, send, signingAgent } from '../support/signing.ts'

/** Of which a store cannot tell what was signed, in seconds: 30 by which clocks may be ahead, and 5 between processes. */
const BLIND_SECONDS = 35

test(
  'a gateway admits any signed request that changes something 35 seconds after the start of its store, and none before',
  needs('redis-server'),
  async (t) => {
    const service = await startTestService(t)
    const { agent } = await signingAgent(service)
    const { url: nonces } = await startRedis(t)
    const settings = { service: service.url, audiences: [SHOP], policy: { requireProof: true } }
    const waits = [{}, { nonces }].map(async (more) => {
      const began = performance.now()
      const gateway = await startGateway(t, { ...settings, ...more })
      await until(async () => {
        const request = await agent.sign(`${SHOP}/orders`, { method: 'POST' })
        const headers = {
          'x-forwarded-method': 'POST',
          'x-forwarded-uri': '/orders',
          'x-forwarded-host': 'shop.example',
          'x-forwarded-proto': 'https',
        }
        const asked = { method: 'GET', target: '/auth/forward', headers }
        return (await send(gateway.url, request, asked)).status === 200
      })
      return (performance.now() - began) / 1000
    })
    for (const seconds of await Promise.all(waits))
      assert.ok(seconds >= BLIND_SECONDS, `${seconds}`)
  },
)
