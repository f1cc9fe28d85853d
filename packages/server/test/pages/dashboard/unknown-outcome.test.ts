import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { POSTGRES_ONLY } from '../../../../../test/support/postgres.ts'
import { claimAgent, startTestService, testEnv } from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { startStallingProxy } from '../../../../../test/support/stalling-proxy.ts'

test(
  'if the database fails after a revocation was committed, the response does not say that nothing changed',
  POSTGRES_ONLY,
  async (t) => {
    const env = await testEnv(t)
    const proxy = await startStallingProxy(t, env.DATABASE_URL as string)
    const service = await startTestService(t, { ...env, DATABASE_URL: proxy.url })
    const owner = await signIn(service, await service.operator.addVerifiedOwner())
    const did = await claimAgent(service, owner.ownerId)
    let isRevoking = false
    let isCommitted = false
    let lost = 0
    proxy.onSent((bytes) => {
      const isReadOfAnswer = isCommitted && bytes.includes(did.slice(-24))
      if (bytes.includes('agent.revoked')) isRevoking = true
      if (isRevoking && /\bcommit\b/i.test(bytes.toString('latin1'))) isCommitted = true
      if (!isReadOfAnswer) return undefined
      lost += 1
      return 'lose'
    })
    const answer = await owner.post(`/api/account/agents/${did}/revoke`)
    proxy.onSent(() => undefined)
    assert.ok(lost > 0)
    assert.equal(answer.status, 503)
    const { error } = jsonOf(answer) as { error: { code: string; message: string } }
    assert.equal(error.code, 'UNAVAILABLE')
    assert.doesNotMatch(error.message, /Nothing was changed/)
    const again = await owner.post(`/api/account/agents/${did}/revoke`)
    assert.equal(again.status, 400, 'it had been done')
  },
)
