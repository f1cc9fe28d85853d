import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'

test('a lookup by public key says that this form is deprecated, by DID and tail it does not', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const lookup = async (reference: string) => {
    const target = `/api/v1/agent/${encodeURIComponent(reference)}`
    const { status, headers } = await ask(service, target)
    return { status, headers }
  }
  const [known, unknown] = [await lookup(key.publicKey), await lookup(newKey().publicKey)]
  assert.deepEqual([known.status, unknown.status], [200, 404])
  for (const { headers } of [known, unknown]) {
    // RFC 9745: a date of structured fields.
    assert.match(headers.get('deprecation') ?? '', /^@\d{10}$/)
    const [, page = ''] = /^<([^>]+)>; rel="deprecation"/.exec(headers.get('link') ?? '') ?? []
    assert.equal((await fetch(page)).status, 200)
    assert.match(headers.get('access-control-expose-headers') ?? '', /Deprecation, Link/)
  }
  for (const { status, headers } of [await lookup(did), await lookup(did.slice(-24))])
    assert.deepEqual([status, headers.get('deprecation')], [200, null])
})
