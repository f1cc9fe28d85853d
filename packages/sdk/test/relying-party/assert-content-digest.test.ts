import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentDigest } from '@countersign/protocol'
import { assertContentDigest } from '../../src/relying-party/assert-content-digest.ts'
import { failsWith } from '../support/fails.ts'

const BODY = new TextEncoder().encode('one item')
const HEADER = 'x-serviceid-content-digest'
const DIGEST = contentDigest(BODY)

function requestWith(headers: Record<string, string>, body: string | null = 'one item') {
  return new Request('https://shop.example/orders', { method: 'POST', headers, body })
}

test('a body with the signed digest passes, and a Request can still be read', async () => {
  const request = requestWith({ [HEADER]: DIGEST })
  await assertContentDigest(request)
  assert.equal(await request.text(), 'one item')
  await assertContentDigest({ headers: { [HEADER]: DIGEST }, body: BODY })
  await assertContentDigest(requestWith({ 'x-acmeid-content-digest': DIGEST }), {
    idHeader: 'AcmeID',
  })
})

test('another body, a malformed digest and a body without the header are refused', async () => {
  for (const request of [
    requestWith({ [HEADER]: DIGEST }, 'two items'),
    requestWith({ [HEADER]: DIGEST }, null),
    requestWith({ [HEADER]: 'sha-256=nonsense' }),
    requestWith({ [HEADER]: `${DIGEST}, ${DIGEST.slice(0, 20)}` }),
    // A client's own digest is not the one that the gateway passes on.
    requestWith({ 'content-digest': DIGEST }),
    requestWith({ [HEADER]: '' }),
    { headers: {}, body: BODY },
    { headers: new Headers(), body: BODY },
  ]) {
    await failsWith('INVALID_SIGNATURE', assertContentDigest(request))
  }
  const large = { [HEADER]: DIGEST }
  const request = requestWith(large, 'x'.repeat(10 * 1024 * 1024 + 1))
  await failsWith('PAYLOAD_TOO_LARGE', assertContentDigest(request))
})

test('a request without a body needs no digest', async () => {
  await assertContentDigest(new Request('https://shop.example'))
  await assertContentDigest({ headers: { [HEADER]: '' }, body: null })
  const options = { idHeader: 'no header' }
  await failsWith(
    'INVALID_ARGUMENT',
    assertContentDigest(new Request('https://shop.example'), options),
  )
})
