import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyThumbprint } from '@countersign/protocol'
import { startTestService } from '../../../../test/support/service.ts'
import { needs } from '../../../../test/support/tools.ts'
import { chainOfLength, delegator, holderOf, workerOf } from '../support/delegation.ts'
import { type Reached, startEchoSite } from '../support/echo-site.ts'
import { startGateway } from '../support/gateway-process.ts'
import { type ProxyName, startProxy } from '../support/proxies.ts'
import { send } from '../support/signing.ts'

const PROXIES: readonly ProxyName[] = ['nginx', 'caddy', 'haproxy']
/** Agents sign for plain http only on loopback. */
const LOCAL_SHOP = 'http://localhost:8000'
const LONGEST = 6_144

const OVERRIDES = [
  'x-http-method-override',
  'X-HTTP-Method',
  'X-Method-Override',
  'x-original-url',
  'x-rewrite-url',
]

for (const proxy of PROXIES) {
  test(
    `behind ${proxy}: delegates are named to the site, as long as their chains may be`,
    needs(proxy),
    async (t) => {
      const service = await startTestService(t)
      const site = await startEchoSite(t)
      const policy = { requireProof: true, delegation: { maxDepth: 3 } }
      const gateway = await startGateway(t, {
        service: service.url,
        audiences: [LOCAL_SHOP],
        policy,
      })
      const ports = { gatewayPort: gateway.port, sitePort: site.port, idHeader: 'ServiceID' }
      const url = await startProxy(t, proxy, ports)
      const agent = await delegator(service)
      const host = new URL(LOCAL_SHOP).host
      const forged = { 'X-ServiceID-Delegate': 'forged', x_serviceid_delegate: 'forged' }

      const limits = { origins: [LOCAL_SHOP], paths: ['/orders', '/orders/*'], methods: ['GET'] }
      const worker = await workerOf(agent, [{ limits }])
      const answer = await send(url, await worker.request(`${LOCAL_SHOP}/orders`), {
        host,
        headers: forged,
      })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual(delegatesIn(site.reached.at(-1)), [keyThumbprint(worker.key.publicKey)])

      for (const target of [
        '/orders/%2e%2e%2fadmin',
        '/orders;a',
        '/orders//1',
        '/Orders',
        '/admin',
      ]) {
        const outside = await send(url, await worker.request(LOCAL_SHOP + target), { host })
        assert.equal(outside.status, 403, target)
      }
      for (const name of OVERRIDES) {
        const override = { headers: { [name]: name.includes('url') ? '/admin' : 'DELETE' } }
        const overridden = await worker.request(`${LOCAL_SHOP}/orders`, override)
        assert.equal((await send(url, overridden, { host })).status, 403, name)
      }

      const { chain, key } = await chainOfLength(LONGEST, agent, [LOCAL_SHOP])
      const longest = await holderOf(agent, key, chain).request(`${LOCAL_SHOP}/orders`)
      const long = await send(url, longest, { host })
      assert.equal(long.status, 200, long.text.slice(0, 300))
      assert.deepEqual(delegatesIn(site.reached.at(-1)), [keyThumbprint(key.publicKey)])

      const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
      assert.match(metrics, /^countersign_gateway_delegated_total\{action="allow",depth="1"\} 1$/m)
      assert.match(metrics, /^countersign_gateway_delegated_total\{action="allow",depth="3"\} 1$/m)
      assert.ok(!metrics.includes(keyThumbprint(key.publicKey)))
    },
  )
}

/** What the site sees of the header for delegates, by any of its names. */
function delegatesIn(reached: Reached | undefined): string[] {
  const values = reached?.fields.filter(([name]) => /^x.serviceid.delegate$/.test(name)) ?? []
  return values.map(([, value]) => value).filter((value) => value !== '')
}
