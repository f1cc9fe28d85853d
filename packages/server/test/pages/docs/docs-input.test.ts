import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorCode } from '@countersign/protocol'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask, askRaw } from '../../../../../test/support/ask.ts'
import { startTestService } from '../../../../../test/support/service.ts'

const MISSING = [404, 'NOT_FOUND'] as const
const MALFORMED = [400, 'VALIDATION_ERROR'] as const

const REQUESTS: readonly [string, readonly [number, ErrorCode]][] = [
  ['/docs/nowhere', MISSING],
  ['/docs/nowhere.md', MISSING],
  ['/docs/agents.html', MISSING],
  ['/docs/agents.md.md', MISSING],
  ['/docs/.md', MISSING],
  ['/docs/agents/', MISSING],
  ['/docs/AGENTS', MISSING],
  ['/docs/__proto__', MISSING],
  ['/docs/constructor', MISSING],
  ['/docs/../../package.json', MISSING],
  ['/docs/..%2f..%2fpackage.json', MISSING],
  ['/docs/%2e%2e%2f%2e%2e%2fREADME.md', MISSING],
  ['/docs/..\\..\\package.json', MISSING],
  ['/docs/%00', MISSING],
  [`/docs/${'a'.repeat(5000)}`, MISSING],
  ['/docs/api/nowhere', MISSING],
  ['/docs/api/__proto__', MISSING],
  ['/docs/api/', MISSING],
  ['/docs/examples/nowhere', MISSING],
  ['/docs/examples/nowhere.md', MISSING],
  ['/docs/examples/nowhere.tgz', MISSING],
  ['/docs/examples/shop.json', MISSING],
  ['/docs/examples/.tgz', MISSING],
  ['/docs/examples/..%2fapi%2fopenapi.tgz', MISSING],
  ['/docs/examples/__proto__.tgz', MISSING],
  ['/docs/%ff', MALFORMED],
  ['/docs/api/%ff', MALFORMED],
]

test('unknown documentation pages answer 404', async (t) => {
  const service = await startTestService(t)
  for (const [address, refusal] of REQUESTS) {
    await t.test(address.slice(0, 40), async () => {
      const head = `GET ${address} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
      assertRefused(await askRaw(service, head), ...refusal)
    })
  }
})

test('documentation pages accept only GET and HEAD', async (t) => {
  const service = await startTestService(t)
  for (const target of [
    '/docs',
    '/docs/agents',
    '/docs/agents.md',
    '/docs/api',
    '/docs/api/claim',
    '/docs/examples/shop',
    '/docs/examples/shop.tgz',
  ]) {
    const refused = await ask(service, target, { method: 'POST' })
    assertRefused(refused, 405, 'METHOD_NOT_ALLOWED')
    assert.equal(refused.headers.get('allow'), 'GET, HEAD')
    assert.equal((await ask(service, target, { method: 'HEAD' })).status, 200)
  }
})

test('/docs/ redirects to /docs', async (t) => {
  const service = await startTestService(t)
  const { status, headers } = await ask(service, '/docs/')
  assert.deepEqual([status, headers.get('location')], [308, '/docs'])
})
