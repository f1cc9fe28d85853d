import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { freePort } from '../../../test/support/ports.ts'
import { run } from '../src/run.ts'
import { cliFor, errorIn } from './support/cli.ts'
import { startImpostor, startJsonParrot, startParrot } from './support/impostor.ts'

const DID = `svc:agent:${'7'.repeat(24)}`
const JSON_TYPE = { 'content-type': 'application/json' }
const LOOKUP = {
  verified: true,
  owner: {
    identityMethod: null,
    identityLevel: 'unverified',
    claimedAt: '2026-01-02T03:04:05.000Z',
  },
  certificate: { id: DID, status: 'active', verifyUrl: `/agent/${DID}` },
}

suite('responses that do not come from a service', () => {
  test('no connection: UNREACHABLE, exit code 5', async (t) => {
    const url = `http://localhost:${await freePort()}`
    const people = await cliFor(t).run('lookup', DID, '--url', url)
    assert.deepEqual([people.code, people.stdout], [5, ''])
    assert.equal(people.stderr, `countersign: ${url} cannot be reached (ECONNREFUSED).\n`)
    const program = await cliFor(t).run('lookup', DID, '--url', url, '--json')
    assert.deepEqual([program.code, errorIn(program).code], [5, 'UNREACHABLE'])
  })

  test('no response within ten seconds: NO_ANSWER, exit code 5', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    const silent = () => {
      resolve()
      return new Promise<Response>(() => undefined)
    }
    const io = cliFor(t).io({ fetch: silent })
    const ended = run(['lookup', DID, '--url', 'https://id.example', '--json'], io)
    await asked
    t.mock.timers.tick(9_999)
    assert.equal(await Promise.race([ended, new Promise((go) => setImmediate(go, 'open'))]), 'open')
    t.mock.timers.tick(1)
    const result = { code: await ended, ...io.written() }
    assert.deepEqual([result.code, errorIn(result).code], [5, 'NO_ANSWER'])
    assert.match(errorIn(result).message, /not answered within 10 seconds/)
  })

  test('a response that breaks off: NO_ANSWER, exit code 5', async (t) => {
    const url = await startImpostor(t, (_request, response) => {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': '999' })
      response.write('{', () => response.destroy())
    })
    const result = await cliFor(t).run('lookup', DID, '--url', url, '--json')
    assert.deepEqual([result.code, errorIn(result).code], [5, 'NO_ANSWER'])
  })

  test("a proxy's error page: exit code 5, without the text of the page", async (t) => {
    const html = { 'content-type': 'text/html; charset=utf-8' }
    const url = await startParrot(t, 503, html, '<html>\u001b[31mBusy</html>')
    const { code, stderr } = await cliFor(t).run('lookup', DID, '--url', url)
    assert.equal(code, 5)
    assert.match(stderr, /answers 503 with text\/html instead of JSON: something in front/)
    assert.doesNotMatch(stderr, /Busy/)
  })

  test('404 from something else: exit code 1, since it does not mean that there is no such agent', async (t) => {
    const cli = cliFor(t)
    const answers: [number, Record<string, string>, string][] = [
      [404, { 'content-type': 'text/html' }, '<html>Not found</html>'],
      [404, JSON_TYPE, '{"error":"not found"}'],
      [200, JSON_TYPE, '{'],
      [200, JSON_TYPE, ' '.repeat(1024 * 1024 + 1)],
      [302, { location: 'https://elsewhere.example/login' }, ''],
    ]
    for (const answer of answers) {
      const url = await startParrot(t, ...answer)
      const result = await cli.run('lookup', DID, '--url', url, '--json')
      assert.deepEqual([result.code, errorIn(result).code], [1, 'UNEXPECTED_ANSWER'], answer[2])
      assert.match(errorIn(result).message, /Is it a Countersign service\? Check --url\.$/)
    }
  })

  test('another shape or another agent: exit code 1; further fields are passed on', async (t) => {
    const cli = cliFor(t)
    const { certificate } = LOOKUP
    const answers = [
      null,
      {},
      { ...LOOKUP, owner: null },
      { ...LOOKUP, certificate: { ...certificate, status: 'excellent' } },
      { ...LOOKUP, certificate: { ...certificate, id: 'svc:agent:short' } },
      { ...LOOKUP, certificate: { ...certificate, id: `svc:agent:${'8'.repeat(24)}` } },
    ]
    for (const answer of answers) {
      const url = await startJsonParrot(t, answer)
      const result = await cli.run('lookup', DID, '--url', url, '--json')
      const text = JSON.stringify(answer)
      assert.deepEqual([result.code, result.stdout], [1, ''], text)
      assert.equal(errorIn(result).code, 'UNEXPECTED_ANSWER', text)
    }
    const more = { ...LOOKUP, planned: true, certificate: { ...certificate, more: 1 } }
    assert.deepEqual(await cli.json('lookup', DID, '--url', await startJsonParrot(t, more)), more)
  })

  test('an error of the service: its message, escaped for terminals, its request id, its exit code', async (t) => {
    const cli = cliFor(t)
    const refuse = (status: number, code: string) => {
      const error = { code, message: 'No\u001b[2J\nno.', requestId: 'req_x\u0007' }
      return startJsonParrot(t, { error }, status)
    }
    const people = await cli.run('lookup', DID, '--url', await refuse(404, 'NOT_FOUND'))
    assert.equal(people.code, 3)
    assert.equal(people.stderr, 'countersign: No\\u001b[2J\\u000ano. (req_x\\u0007)\n')
    const url = await refuse(418, 'OF_A_NEWER_SERVICE')
    const program = await cli.run('lookup', DID, '--url', url, '--json')
    assert.equal(program.code, 1)
    assert.deepEqual(errorIn(program), {
      code: 'OF_A_NEWER_SERVICE',
      message: 'No\u001b[2J\nno.',
      requestId: 'req_x\u0007',
    })
  })
})
