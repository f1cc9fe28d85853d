import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { askRaw } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { only, sendRaw } from '../../../../test/support/raw-http.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'

const HEAD = 'Host: x\r\nConnection: close\r\n'
const GET = `GET /healthz HTTP/1.1\r\n${HEAD}`
const POST = `POST /api/v1/claim HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\n`

/** What Node's parser rejects. */
const NOT_HTTP: Readonly<Record<string, string>> = {
  'the beginning of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'a greeting of SSH': 'SSH-2.0-OpenSSH_9.9\r\n',
  'a line of text': 'hello there\r\n\r\n',
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'HTTP/1.2': `GET /healthz HTTP/1.2\r\n${HEAD}\r\n`,
  'a version that is none': `GET /healthz HTTP/one\r\n${HEAD}\r\n`,
  'a method that nobody knows': `FOO /healthz HTTP/1.1\r\n${HEAD}\r\n`,
  'a method in lower case': `get /healthz HTTP/1.1\r\n${HEAD}\r\n`,
  'no space after the method': `GET/healthz HTTP/1.1\r\n${HEAD}\r\n`,
  'a space in the address': `GET /api/v1/agent/a b HTTP/1.1\r\n${HEAD}\r\n`,
  'a NUL in the address': `GET /api/v1/agent/\0 HTTP/1.1\r\n${HEAD}\r\n`,
  'bytes above ASCII in the address': `GET /api/v1/agent/\xc3\xa9 HTTP/1.1\r\n${HEAD}\r\n`,
  'lines that end in LF alone': 'GET /healthz HTTP/1.1\nHost: x\n\n',
  'a folded header': `${GET}X: a\r\n b\r\n\r\n`,
  'a folded Host': 'GET /healthz HTTP/1.1\r\nHost: x\r\n y\r\nConnection: close\r\n\r\n',
  'a space before the colon of a header': `${GET}X : a\r\n\r\n`,
  'a space before the colon of Host': 'GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n',
  'a header without a name': `${GET}: a\r\n\r\n`,
  'a header without a colon': `${GET}Xa\r\n\r\n`,
  'a NUL in a header': `${GET}X: a\0b\r\n\r\n`,
  'a carriage return in a header': `${GET}X: a\rb\r\n\r\n`,
  'a header of 17 KiB': `${GET}X: ${'a'.repeat(17 * 1024)}\r\n\r\n`,
  '3,000 headers': `${GET}${'a: b\r\n'.repeat(3000)}\r\n`,
  'a Host behind more headers than are kept': `${GET}${'a:\r\n'.repeat(2001)}Host: y\r\n\r\n`,
  'an address of 100 KiB': `GET /api/v1/agent/${'a'.repeat(100 * 1024)} HTTP/1.1\r\n${HEAD}\r\n`,
  'an unknown address of 100 KiB': `GET /${'a'.repeat(100 * 1024)} HTTP/1.1\r\n${HEAD}\r\n`,
  'a query of 100 KiB': `GET /healthz?${'a'.repeat(100 * 1024)} HTTP/1.1\r\n${HEAD}\r\n`,
  'a negative length': `${POST}Content-Length: -2\r\n\r\n{}`,
  'a length in hexadecimal': `${POST}Content-Length: 0x2\r\n\r\n{}`,
  'a length with a sign': `${POST}Content-Length: +2\r\n\r\n{}`,
  'a length beyond all numbers': `${POST}Content-Length: ${'9'.repeat(30)}\r\n\r\n{}`,
  'two lengths': `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
  'the same length twice': `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
  'two lengths in one header': `${POST}Content-Length: 2, 2\r\n\r\n{}`,
  'a length and chunks': `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'chunks and a length': `${POST}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'a chunk whose size is no number': `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
  'a chunk without a size': `${POST}Transfer-Encoding: chunked\r\n\r\n\r\n{}\r\n0\r\n\r\n`,
  'a chunk longer than its size': `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`,
  'a chunk whose line ends in LF alone': `${POST}Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n`,
}

test('malformed HTTP gets the error envelope, and the connection is closed', async (t) => {
  const service = await startTestService(t)
  for (const [name, bytes] of Object.entries(NOT_HTTP)) {
    await t.test(name, async () => {
      await unchanged(service, async () => {
        const { answers, closed, rest } = await sendRaw(service.url, bytes)
        assertRefused(only(answers), 400, 'VALIDATION_ERROR')
        assert.ok(closed)
        assert.equal(rest, '')
      })
      await assertAlive(service)
    })
  }
})

test('requests that Node would answer or drop itself get the error envelope', async (t) => {
  const service = await startTestService(t)
  const host = 'Host: example.org:443\r\n'
  const cases: Record<string, string> = {
    'an expectation that nobody knows': `${POST}Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}`,
    'CONNECT to another host': `CONNECT example.org:443 HTTP/1.1\r\n${host}\r\n`,
    'CONNECT to an address of ours': `CONNECT /api/v1/claim HTTP/1.1\r\n${host}\r\n`,
    'CONNECT without Host': 'CONNECT example.org:443 HTTP/1.1\r\n\r\n',
  }
  for (const [name, bytes] of Object.entries(cases)) {
    await t.test(name, async () => {
      const answer = await unchanged(service, () => askRaw(service, bytes))
      assertRefused(answer, 400, 'VALIDATION_ERROR')
      await assertAlive(service)
    })
  }
})

async function assertAlive(service: TestService): Promise<void> {
  assert.deepEqual(jsonOf(await askRaw(service, `${GET}\r\n`)), { status: 'ok' })
}
