import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorCode } from '@countersign/protocol'
import { assertRefused } from '../../../../test/support/answer.ts'
import { askRaw } from '../../../../test/support/ask.ts'
import { startTestService } from '../../../../test/support/service.ts'

const FILE = '/docs/static/swagger-ui.css'
const MISSING = [404, 'NOT_FOUND'] as const
const MALFORMED = [400, 'VALIDATION_ERROR'] as const

const REQUESTS: readonly [string, string, readonly [number, ErrorCode]][] = [
  ['/docs/nowhere', '', MISSING],
  ['/docs/static', '', MISSING],
  ['/docs/static/nowhere.js', '', MISSING],
  ['/docs/static/.git', '', MISSING],
  ['/docs/static/../../package.json', '', MISSING],
  ['/docs/static/..%2f..%2fpackage.json', '', MISSING],
  ['/docs/static/%2e%2e/%2e%2e/package.json', '', MISSING],
  ['/docs/static/..\\..\\package.json', '', MISSING],
  ['/docs/static/%00', '', MISSING],
  [`/docs/static/${'a'.repeat(5000)}`, '', MISSING],
  ['/docs/static/%ff', '', MALFORMED],
  [FILE, 'Range: bytes=99999999-\r\n', MALFORMED],
  [FILE, 'If-Match: "x"\r\n', MALFORMED],
  [FILE, 'If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT\r\n', MALFORMED],
]

test('what the pages of the documentation do not have is refused with the envelope as well', async (t) => {
  const service = await startTestService(t)
  for (const [address, header, refusal] of REQUESTS) {
    await t.test(`${address.slice(0, 40)} ${header.trim()}`, async () => {
      const head = `GET ${address} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`
      assertRefused(await askRaw(service, `${head}${header}\r\n`), ...refusal)
    })
  }
  const file = await askRaw(service, `GET ${FILE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  assert.equal(file.status, 200)
})
