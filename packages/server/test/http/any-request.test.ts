import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Answer, assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { sendRaw } from '../../../../test/support/raw-http.ts'
import { verifyBody } from '../../../../test/support/refused-posts.ts'
import { claimAgent, claimBody, startTestService } from '../../../../test/support/service.ts'

const RUNS = 1500

/** Addresses, with a place for a reference where they have one. */
const ADDRESSES = [
  '/api/v1/agent/{x}',
  '/api/v1/agent/{x}/card',
  '/api/agents/{x}',
  '/api/agents/{x}/card',
  '/api/agents/{x}/avatar.svg',
  '/agent/{x}',
  '/agent/{x}/badge.svg',
  '/agent/{x}/qr.svg',
  '/agent/svc/agent/{x}/did.json',
  '/agent/{x}/jwks.json',
  '/',
  '/check',
  '/assets/{x}',
  '/api/v1/claim',
  '/api/v1/agent/verify',
  '/api/v1/verify-request',
  '/api/v1/identify',
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/docs',
  '/docs/{x}',
  '/docs/agents',
  '/docs/{x}.md',
  '/docs/api/{x}',
  '/skill.md',
  '/llms.txt',
  '/.well-known/agent-skills/{x}',
  '/{x}',
]

const HEADERS = [
  'Accept: application/did+json',
  'Accept: ;q=',
  'If-None-Match: *',
  'If-None-Match: "x',
  'If-Match: *',
  'If-Match: "x"',
  'If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT',
  'If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT',
  'Range: bytes=0-0',
  'Range: bytes=99999999-',
  'Range: bytes=0-1,3-4',
  'Content-Type: application/json',
  'Content-Type: application/json; charset=utf-16',
  'Content-Type: ;;',
  'Content-Type: application/x-www-form-urlencoded',
  'Content-Encoding: gzip',
  'Expect: 100-continue',
  'Expect: x',
  'Connection: upgrade\r\nUpgrade: websocket',
  'ServiceID: x',
  'Host: y',
  'Accept-Version: 2.0.0',
  'Accept-Encoding: gzip, br',
  'X-HTTP-Method-Override: DELETE',
  '__proto__: x',
  'Origin: null',
]

const REFERENCES = [
  'x',
  '',
  '..',
  '%2e%2e',
  '%00',
  '%ff',
  '__proto__',
  'constructor',
  '*',
  ':x',
  '%0a',
]
const QUERIES = ['', '?', '?a=%ff', '?__proto__=1', '?a[]=1&a[]=2', '?x=/../']
const BODIES = ['', '{}', '[]', 'null', '"', '{"a":', '\xff', '{"__proto__":1}', '['.repeat(5000)]

test('no request gets a 5xx, an error in another shape, or no response', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const references = [did, did.slice(-24), encodeURIComponent(key.publicKey), ...REFERENCES]
  const claim = JSON.stringify(claimBody(`svc-verify-${'0'.repeat(32)}`, key))
  const bodies = [claim, JSON.stringify(verifyBody(key)), ' '.repeat(20_000), ...BODIES]

  const request = fc
    .record({
      // CONNECT has a target of another kind; http-parsing.test.ts asks it.
      method: fc.constantFrom(...METHODS.filter((each) => each !== 'CONNECT')),
      address: fc.constantFrom(...ADDRESSES),
      reference: fc.constantFrom(...references),
      query: fc.constantFrom(...QUERIES),
      headers: fc.uniqueArray(fc.constantFrom(...HEADERS), { maxLength: 4 }),
      body: fc.constantFrom(...bodies),
      version: fc.constantFrom('1.1', '1.1', '1.0'),
    })
    .map(({ method, address, reference, query, headers, body, version }) => {
      const line = `${method} ${address.replace('{x}', reference)}${query} HTTP/${version}`
      const length = `Content-Length: ${body.length}`
      const head = [line, 'Host: x', 'Connection: close', length, ...headers]
      return { method, bytes: `${head.join('\r\n')}\r\n\r\n${body}` }
    })

  const property = fc.asyncProperty(request, async ({ method, bytes }) => {
    const final = await finalAnswers(service.url, bytes, method)
    assert.ok(final.length > 0, 'there is an answer')
    for (const answer of final) assertContract(answer, method)
  })
  await unchanged(service, () => fc.assert(property, { numRuns: RUNS }))
})

/** A process that a busy machine does not let run says so with 503: asked again, it answers. */
async function finalAnswers(url: string, bytes: string, method: string): Promise<Answer[]> {
  for (let again = 20; ; again -= 1) {
    const { answers } = await sendRaw(url, bytes, { head: method === 'HEAD' })
    const final = answers.filter(({ status }) => status >= 200)
    const isBusy = final.some(({ status, headers }) => status === 503 && headers.has('retry-after'))
    if (!isBusy || again === 0) return final
  }
}

function assertContract(answer: Answer, method: string): void {
  assert.ok(answer.status < 500, `${answer.status}: ${answer.text}`)
  if (answer.status < 400) return
  // The DID document of a revoked agent is the one other thing that a 4xx carries, and nobody is revoked here.
  if (method === 'HEAD') assert.equal(answer.headers.get('cache-control'), 'no-store')
  else assertRefused(answer, answer.status, codeOf(answer))
}

function codeOf(answer: Answer) {
  return jsonOf<{ error: { code: 'VALIDATION_ERROR' } }>(answer).error.code
}
