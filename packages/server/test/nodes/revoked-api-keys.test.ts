import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedApiKey } from '@countersign/protocol'
import { jsonOf } from '../../../../test/support/answer.ts'
import { freePort } from '../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'

test(
  'an API key that one node revokes works on no other node from the response on',
  POSTGRES_ONLY,
  async (t) => {
    const first = await startTestService(t)
    const second = await startTestService(t, { ...first.env, PORT: String(await freePort()) })
    const owner = await signIn(first, await first.operator.addVerifiedOwner('ada'))
    const body = { name: 'CI', scopes: ['agents:read'] }
    const { id, secret } = jsonOf<CreatedApiKey>(await owner.post('/api/account/api-keys', body))
    const status = async () => {
      const headers = { authorization: `Bearer ${secret}` }
      return (await fetch(`${second.url}/api/account/agents`, { headers })).status
    }
    assert.equal(await status(), 200)
    assert.equal((await owner.send('DELETE', `/api/account/api-keys/${id}`)).status, 204)
    assert.equal(await status(), 401)
  },
)
