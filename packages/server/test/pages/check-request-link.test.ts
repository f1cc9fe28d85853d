import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import {
  check,
  checkText,
  linkOf,
  open,
  outcomesOf,
  rawRequest,
  requestOf,
  stopOf,
  URL_OF_ORDERS as url,
  verdictOf,
} from './support/check-request.ts'
import { textOf } from './support/html.ts'

test('a link reproduces a case at its time, without bodies, cookies and other secrets', async (t) => {
  let ahead = 0
  const service = await startTestService(t, {}, () => Date.now() + ahead)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const body = 'secret-body'
  const headers = await signedHeaders(service, did, key, { method: 'POST', url, body })
  const more = [['Cookie', 'secret-cookie'] as const, ['X-Api-Key', 'secret-header'] as const]
  const html = await check(service, rawRequest([...headers, ...more], { method: 'POST', body }))
  assert.match(verdictOf(html), /^Verified/)
  const link = linkOf(html)
  assert.doesNotMatch(link, /secret/)
  assert.match(textOf(html), /It leaves out Cookie, X-Api-Key, and the body\./)
  assert.match(textOf(html), /share the link after it has expired/)

  // A day later, the result is the same.
  ahead = 86_400_000
  const opened = await open(service, link)
  assert.match(verdictOf(opened), /^Verified .* That was the result at 20/)
  assert.deepEqual(outcomesOf(opened), { ...outcomesOf(html), body: 'unchecked' })
  assert.doesNotMatch(requestOf(opened), /secret/)
  assert.equal(checkText(opened, 'times'), checkText(html, 'times'))
  assert.equal(linkOf(opened), link)

  const broken = linkOf(
    await check(service, requestOf(opened), { break: 'path', at: '2026-01-01T00:00:00Z' }),
  )
  assert.match(broken, /break=path/)
  assert.equal(
    stopOf(await open(service, linkOf(await open(service, `${link}&break=path`)))),
    'signature failed',
  )
})

test('what is signed and secret is left out of a link, which says that the signature cannot be verified', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const secret = 'https://shop.example/orders?access_token=secret-token&page=2'
  const signed = await signedHeaders(service, did, key, {
    url: secret,
    headers: [['Authorization', 'Bearer secret-bearer']],
  })
  const target = secret.slice('https://shop.example'.length)
  const html = await check(service, rawRequest(signed, { target }))
  assert.match(verdictOf(html), /^Verified/)
  const link = linkOf(html)
  assert.doesNotMatch(link, /secret/)
  assert.match(textOf(html), /It leaves out Authorization and values of the query\./)
  const opened = await open(service, link)
  assert.equal(stopOf(opened), 'signature undecided')
  assert.match(verdictOf(opened), /^Not verified .* leaves out a value that is signed/)
})

test('a request that is too long has no link', async (t) => {
  const service = await startTestService(t)
  const html = await check(service, `GET https://shop.example/${'a'.repeat(7000)}`)
  assert.equal(linkOf(html), '')
  assert.match(textOf(html), /too long for a link/)
})
