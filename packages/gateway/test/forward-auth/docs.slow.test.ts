import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unverify } from '../../../../test/support/agents.ts'
import { DocPage } from '../../../../test/support/doc-page.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { startGateway } from '../support/gateway-process.ts'
import { SHOP, send, signForNewGateway, signingAgent } from '../support/signing.ts'

const PAGE = new DocPage('docs/gateways.md', import.meta.filename)

test('the file of docs/gateways.md admits orders of agents of verified owners only', async (t) => {
  const settings = JSON.parse(PAGE.take('2. Write the policy'))
  PAGE.assertAllTaken()
  assert.deepEqual(settings.audiences, [SHOP])
  const service = await startTestService(t)
  const gateway = await startGateway(t, { ...settings, service: service.url })
  const signer = await signingAgent(service)
  const { did } = signer
  const other = await signingAgent(service)
  await unverify(service, other.owner, other.did)

  /** Asks as Caddy, Traefik and HAProxy do. */
  const ask = ({ url, method, headers }: Request) =>
    send(gateway.url, new Request(url, { headers }), {
      target: '/auth/forward',
      host: new URL(gateway.url).host,
      headers: {
        'x-forwarded-method': method,
        'x-forwarded-uri': new URL(url).pathname,
        'x-forwarded-host': new URL(url).host,
        'x-forwarded-proto': 'https',
        'x-forwarded-for': '192.0.2.1',
      },
    })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  const orders = `${SHOP}/orders`

  const admitted = await ask(await signForNewGateway(signer, new Request(orders, init), ask))
  assert.equal(admitted.status, 200)
  assert.equal(admitted.headers['x-serviceid-did'], did)
  assert.equal(admitted.headers['x-serviceid-proof'], 'signature')
  assert.match(String(admitted.headers['x-serviceid-content-digest']), /^sha-256=:/)

  const named = await ask(
    new Request(orders, { ...init, headers: { ...init.headers, ServiceID: did } }),
  )
  assert.deepEqual([named.status, reasonOf(named)], [401, 'proof-required'])
  assert.match(String(named.headers['accept-signature']), /"web-bot-auth"/)
  const unverified = await ask(await signForNewGateway(other, new Request(orders, init), ask))
  assert.deepEqual([unverified.status, reasonOf(unverified)], [403, 'owner-unverified'])
  assert.equal((await ask(new Request(orders, init))).status, 401)
  assert.equal((await ask(new Request(orders))).status, 200)
})

function reasonOf({ text }: { readonly text: string }): string {
  return JSON.parse(text).error.reasons[0]
}
