import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvalToken, serviceSigner } from '../../../../test/support/approval-token.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { needs } from '../../../../test/support/tools.ts'
import { type Reached, startEchoSite } from '../support/echo-site.ts'
import { startGateway } from '../support/gateway-process.ts'
import { type ProxyName, startProxy } from '../support/proxies.ts'
import { send, signingAgent } from '../support/signing.ts'

const PROXIES: readonly ProxyName[] = ['nginx', 'caddy', 'haproxy']
/** Agents sign for plain http only on loopback. */
const LOCAL_SHOP = 'http://localhost:8000'

for (const proxy of PROXIES) {
  test(
    `behind ${proxy}: an approval admits once, and is named to the site`,
    needs(proxy),
    async (t) => {
      const service = await startTestService(t)
      const site = await startEchoSite(t)
      const gateway = await startGateway(t, {
        service: service.url,
        audiences: [LOCAL_SHOP],
        policy: { requireProof: true, approval: { bodyCheckedByApplication: true } },
      })
      const ports = { gatewayPort: gateway.port, sitePort: site.port, idHeader: 'ServiceID' }
      const url = await startProxy(t, proxy, ports)
      const { agent, did } = await signingAgent(service, [LOCAL_SHOP])
      const issuer = await serviceSigner(service)
      const host = new URL(LOCAL_SHOP).host
      const forged = { 'X-ServiceID-Approval': 'ap_forged', x_serviceid_approval: 'ap_forged' }
      const target = `${LOCAL_SHOP}/orders?a=b`
      const claims = { aud: LOCAL_SHOP, url: target, method: 'GET', body: null }
      /** A gateway that has just started knows these: clocks may be as far ahead. */
      const since = { ...claims, issuedIn: 50 }
      const visit = async (token: string | null, more: Record<string, string> = {}) => {
        const headers = { ...more, ...(token && { 'ServiceID-Approval': token }) }
        const request = await agent.sign(target, { headers })
        return send(url, request, { host, headers: forged })
      }

      assert.equal((await visit(null)).status, 403)
      const early = await visit(await approvalToken(issuer, did, claims))
      assert.equal(early.status, 503, early.text)
      const id = `ap_${'B'.repeat(21)}A`
      const token = await approvalToken(issuer, did, { ...since, jti: id })
      const admitted = await visit(token)
      assert.equal(admitted.status, 200, admitted.text)
      assert.deepEqual(approvalsIn(site.reached.at(-1)), [id])
      assert.equal((await visit(token)).status, 403)
      const unused = await approvalToken(issuer, did, since)
      for (const name of ['x-http-method-override', 'X-Original-URL']) {
        assert.equal((await visit(unused, { [name]: 'x' })).status, 403, name)
      }
      const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
      for (const [result, count] of Object.entries({
        admitted: 1,
        required: 1,
        unchecked: 1,
        used: 1,
        mismatch: 2,
      })) {
        const line = `countersign_gateway_approvals_total{result="${result}"} ${count}`
        assert.ok(metrics.includes(`${line}\n`), metrics)
      }
    },
  )
}

/** The identity headers for approvals that the site has received, by any of its names. */
function approvalsIn(reached: Reached | undefined): string[] {
  const named = reached?.fields.filter(([name]) => /^x.serviceid.approval$/i.test(name)) ?? []
  return [...new Set(named.map(([, value]) => value))].filter((value) => value !== '')
}
