import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Decision } from '@countersign/gateway'
import { gateway } from '@countersign/gateway/express'
import { Agent, newKey, Registry } from '@countersign/sdk'
import { verifyOwner } from '../packages/server/src/accounts/identity/record-verification.ts'
import { loadPepper } from '../packages/server/src/secrets/secrets.ts'
import { startSite } from './support/impostor.ts'
import { olderNonceStore } from './support/older-nonce-store.ts'
import { startTestService } from './support/service.ts'
import { until } from './support/until.ts'

test('an agent whose certificate was replaced is refused once, gets another and is admitted', async (t) => {
  const service = await startTestService(t)
  const { db } = service.operator
  const owner = await service.operator.addVerifiedOwner()
  const decisions: Decision[] = []
  const reasons = () => decisions.map((each) => each.reasons[0].code)
  const shop = await startSite(t, (request, response) =>
    protect(request, response, () => response.end('admitted')),
  )
  const protect = gateway({
    service: service.url,
    audiences: [shop],
    nonces: olderNonceStore(),
    timeoutMs: 30_000,
    policy: { requireProof: true, trust: [{ issuer: service.url, didPrefix: 'svc:agent:' }] },
    onDecision: (decision) => decisions.push(decision),
  })
  t.after(() => protect.close())
  const registry = new Registry(service.url)
  const agent = new Agent({
    registry,
    signer: await newKey(),
    audiences: [shop],
    certificates: true,
  })
  await agent.claim(await service.operator.issueToken(owner))
  assert.equal((await agent.fetch(shop)).status, 200)

  const pepper = loadPepper(service.settings)
  const lower = { assurance: 'low', expiresAt: null } as const
  const subject = { provider: 'in-person', issuer: 'host', subject: String(owner), ...lower }
  await verifyOwner({ db, now: Date.now, pepper }, owner, subject)
  await until(async () => {
    assert.equal((await agent.fetch(shop)).status, 200)
    return reasons().includes('certificate-replaced')
  })
  assert.equal(reasons().filter((each) => each === 'certificate-replaced').length, 1)
})
