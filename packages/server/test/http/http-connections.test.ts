import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { ErrorCode } from '@countersign/protocol'
import { type Answer, assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { only, sendRaw } from '../../../../test/support/raw-http.ts'
import { claimBody, startTestService, type TestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'

const HOST = 'Host: x\r\n'
const POST = `POST /api/v1/claim HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`

async function goodClaim(service: TestService): Promise<string> {
  const owner = await service.operator.addVerifiedOwner()
  return JSON.stringify(claimBody(await service.operator.issueToken(owner)))
}

function posted(json: string): string {
  return `${POST}Content-Length: ${json.length}\r\n\r\n${json}`
}

/** Asserts status and error code of each response; a row without a code is a successful claim. */
function assertAnswers(answers: readonly Answer[], rows: readonly [number, ErrorCode?][]): void {
  assert.deepEqual(
    answers.map(({ status }) => status),
    rows.map(([status]) => status),
  )
  for (const [i, [status, code]] of rows.entries()) {
    const answer = answers[i] as Answer
    if (code === undefined) assert.equal(jsonOf(answer).success, true)
    else assertRefused(answer, status, code)
  }
}

test('Expect: 100-continue gets 100 and then the response', async (t) => {
  const service = await startTestService(t)
  const json = await goodClaim(service)
  const head = `${POST}Connection: close\r\nExpect: 100-continue\r\n`
  const bytes = `${head}Content-Length: ${json.length}\r\n\r\n${json}`
  const { answers } = await sendRaw(service.url, bytes)
  assert.equal(answers[0]?.status, 100)
  assertAnswers(answers.slice(1), [[200]])
})

test('a chunked claim is accepted', async (t) => {
  const service = await startTestService(t)
  const json = await goodClaim(service)
  const chunks = [json.slice(0, 1), json.slice(1, 100), json.slice(100)]
  const body = [...chunks, ''].map((each) => `${each.length.toString(16)}\r\n${each}\r\n`).join('')
  const bytes = `${POST}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${body}`
  assertAnswers((await sendRaw(service.url, bytes)).answers, [[200]])
})

test('a truncated body changes nothing, even if the received part is a valid claim', async (t) => {
  const service = await startTestService(t)
  const json = await goodClaim(service)
  const broken = [
    `${POST}Content-Length: ${json.length + 1}\r\n\r\n${json}`,
    `${POST}Content-Length: ${json.length}\r\n\r\n${json.slice(0, -1)}`,
    `${POST}Transfer-Encoding: chunked\r\n\r\n${json.length.toString(16)}\r\n${json}\r\n`,
    `${POST}Transfer-Encoding: chunked\r\n\r\n${json.length.toString(16)}\r\n${json}\r\n0\r\n`,
  ]
  await unchanged(service, async () => {
    for (const bytes of broken) {
      const { answers, rest } = await sendRaw(service.url, bytes, { end: true })
      assert.equal(rest, '')
      for (const answer of answers) assertRefused(answer, 400, 'VALIDATION_ERROR')
    }
  })
  const { answers } = await sendRaw(service.url, posted(json), { count: 1 })
  assertAnswers(answers, [[200]])
})

test('pipelined requests are answered in order', async (t) => {
  const service = await startTestService(t)
  const claim = posted(await goodClaim(service))
  const forged = posted((await goodClaim(service)).replace('"main"', '"mine"'))
  const lost = `GET /nowhere HTTP/1.1\r\n${HOST}\r\n`
  const { answers } = await sendRaw(service.url, claim + lost + forged + posted('{}'), { count: 4 })
  assertAnswers(answers, [
    [200],
    [404, 'NOT_FOUND'],
    [401, 'INVALID_SIGNATURE'],
    [400, 'VALIDATION_ERROR'],
  ])
})

test('garbage after a request does not affect its response', async (t) => {
  const service = await startTestService(t)
  for (const rubbish of ['rubbish\r\n\r\n', '\0\x01\x02', 'FOO / HTTP/1.1\r\n\r\n']) {
    await t.test(JSON.stringify(rubbish), async () => {
      const claim = await goodClaim(service)
      // Pipelined requests run concurrently: two claims with one token would race.
      const another = claim.replace(/svc-verify-[0-9a-f]{32}/, `svc-verify-${'0'.repeat(32)}`)
      const bytes = posted(claim) + posted(another) + rubbish
      const { answers, rest, closed } = await sendRaw(service.url, bytes)
      assertAnswers(answers, [[200], [404, 'NOT_FOUND'], [400, 'VALIDATION_ERROR']])
      assert.equal(rest, '')
      assert.ok(closed)
    })
  }
})

test('bytes after Content-Length are not part of the body', async (t) => {
  const service = await startTestService(t)
  const json = await goodClaim(service)
  const short = `${POST}Content-Length: ${json.length - 1}\r\n\r\n${json}`
  const { answers, closed } = await unchanged(service, () => sendRaw(service.url, short))
  assertRefused(only(answers), 400, 'VALIDATION_ERROR', /not JSON/)
  assert.ok(closed)
})

test('a rejected connection is closed even if the client keeps it open', async (t) => {
  const service = await startTestService(t)
  const accepted: Socket[] = []
  const onAccepted = (message: unknown) => accepted.push((message as { socket: Socket }).socket)
  subscribe('net.server.socket', onAccepted)
  t.after(() => unsubscribe('net.server.socket', onAccepted))
  const socket = connect({ port: Number(service.env.PORT), allowHalfOpen: true })
  t.after(() => socket.destroy())
  socket.write('rubbish\r\n\r\n')
  socket.resume()
  await once(socket, 'end')
  const own = accepted.find(({ remotePort }) => remotePort === socket.localPort)
  assert.ok(own)
  await until(async () => own.destroyed)
})

test('a connection survives errors that are not HTTP parser errors', async (t) => {
  const service = await startTestService(t)
  const refused = `GET /api/v1/agent/x HTTP/1.1\r\n${HOST}\r\n`
  const { answers, closed } = await sendRaw(service.url, refused.repeat(3), { count: 3 })
  assertAnswers(answers, Array(3).fill([400, 'VALIDATION_ERROR']))
  assert.ok(!closed)
})

test('HTTP/0.9 gets the error envelope', async (t) => {
  const service = await startTestService(t)
  const { answers } = await sendRaw(service.url, 'GET /healthz\r\n\r\n')
  assertRefused(only(answers), 400, 'VALIDATION_ERROR')
})
