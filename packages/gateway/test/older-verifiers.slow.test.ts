import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Cleanup, ROOT, startTestService, tempDir } from '../../../test/support/service.ts'
import type { Decision } from '../src/decision/decision.ts'
import { delegator, sessionOf, workerOf } from './support/delegation.ts'
import { olderNonceStore, SHOP } from './support/signing.ts'

/** The last commit whose verifiers know nothing of chains. */
const BEFORE = 'da151ee8'
const isKnown =
  spawnSync('git', ['cat-file', '-e', `${BEFORE}^{commit}`], { cwd: ROOT }).status === 0
const SKIP = { skip: isKnown ? false : `the clone has no commit ${BEFORE}` }

type Gateways = typeof import('../src/fetch.ts')
type Sdk = typeof import('@countersign/sdk')

/** The packages as they were, with the dependencies of today. */
async function olderPackages(t: Cleanup): Promise<{ gateway: Gateways['gateway']; sdk: Sdk }> {
  const dir = tempDir(t)
  const names = ['protocol', 'sdk', 'gateway']
  const paths = names.map((name) => `packages/${name}`)
  const archive = execFileSync('git', ['archive', BEFORE, ...paths], {
    cwd: ROOT,
    maxBuffer: 2 ** 28,
  })
  execFileSync('tar', ['-x', '-C', dir], { input: archive })
  mkdirSync(join(dir, 'node_modules/@countersign'), { recursive: true })
  for (const name of names) {
    symlinkSync(join(dir, 'packages', name), join(dir, 'node_modules/@countersign', name))
  }
  for (const entry of readdirSync(join(ROOT, 'node_modules'))) {
    if (entry === '@countersign' || entry.startsWith('.')) continue
    symlinkSync(join(ROOT, 'node_modules', entry), join(dir, 'node_modules', entry))
  }
  const load = (path: string) => import(pathToFileURL(join(dir, path)).href)
  const { gateway } = (await load('packages/gateway/src/fetch.ts')) as Gateways
  return { gateway, sdk: (await load('packages/sdk/src/index.ts')) as Sdk }
}

test('gateways and SDKs from before chains refuse them', SKIP, async (t) => {
  const { gateway, sdk } = await olderPackages(t)
  const service = await startTestService(t)
  const agent = await delegator(service)
  const worker = await workerOf(agent)
  const { sessions, token } = await sessionOf(agent)
  const trust = [{ issuer: service.url, didPrefix: 'svc:agent:' }]
  for (const policy of [{ requireProof: true }, { requireProof: true, trust }]) {
    let last: Decision | undefined
    const protect = gateway({
      service: service.url,
      audiences: [SHOP],
      nonces: olderNonceStore(),
      timeoutMs: 30_000,
      policy,
      sessions,
      onDecision: (decision) => {
        last = decision
      },
    })
    t.after(() => protect.close())
    const handler = protect(() => new Response('admitted'))
    assert.equal((await handler(await agent.agent.sign(`${SHOP}/orders`))).status, 200)
    const refused = await handler(await worker.request())
    assert.equal(refused.status, 401, JSON.stringify(last))
    const reason = 'trust' in policy ? 'certificate-invalid' : 'signature-unverified'
    assert.equal(last?.reasons[0].code, reason)
    assert.equal(last?.signature?.reason, 'unknown-key')
    // The session of the agent is a proof of its own, which these gateways take if the key is unknown to them.
    const headers = { authorization: `Bearer ${token}` }
    const byTrust = await handler(await worker.request(`${SHOP}/orders`, { headers }))
    assert.equal(byTrust.status, 'trust' in policy ? 401 : 200)
    assert.equal(last?.proof, 'trust' in policy ? 'none' : 'session')
  }
  const registry = new sdk.Registry(service.url)
  const nonces = olderNonceStore()
  const request = await worker.request()
  const result = await sdk.verifyRequest(request, { registry, audiences: [SHOP], nonces })
  assert.deepEqual([result.verdict, result.reason], ['unverified', 'unknown-key'])
  await assert.rejects(sdk.verifyCertificate(worker.chain, { issuers: [service.url] }), {
    code: 'INVALID_TOKEN',
  })
})
