import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'

/** Requests for one URL, in the order of their expected statuses. */
const REQUESTS: readonly { name: string; status: number; of: (path: string) => string }[] = [
  { name: 'plain', status: 200, of: (path) => `GET ${path} HTTP/1.1\r\nHost: a` },
  { name: 'HTTP/1.0 with a host', status: 200, of: (path) => `GET ${path} HTTP/1.0\r\nhost: a` },
  { name: 'HEAD', status: 200, of: (path) => `HEAD ${path} HTTP/1.1\r\nHost: a` },
  {
    name: 'a body of known length',
    status: 200,
    of: (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0`,
  },
  {
    name: 'a condition',
    status: 304,
    of: (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\nIF-NONE-MATCH: *`,
  },
  {
    name: 'a condition that fails',
    status: 412,
    of: (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\nIf-Match: "x"`,
  },
  {
    name: 'an escaped slash',
    status: 400,
    of: (path) => `GET ${path.replace('agent:', 'agent%2F')} HTTP/1.1\r\nHost: a`,
  },
  {
    name: 'two hosts',
    status: 400,
    of: (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\nHost: b`,
  },
  {
    name: 'a page of a browser',
    status: 200,
    of: (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\nAccept: text/html`,
  },
  {
    name: 'an SD-JWT',
    status: 200,
    of: (path) => `GET ${path} HTTP/1.1\r\nHost: a\r\nACCEPT: APPLICATION/DC+SD-JWT, */*;q=0.1`,
  },
  {
    name: 'an unknown agent',
    status: 404,
    of: (path) => `GET ${path.replace(/agent:\w+/, `agent:${'1'.repeat(24)}`)} HTTP/1.1\r\nHost: a`,
  },
  {
    name: 'no agent',
    status: 400,
    of: (path) => `GET ${path.replace(/svc:agent:\w+/, 'x')} HTTP/1.1\r\nHost: a`,
  },
  { name: 'no valid host', status: 400, of: (path) => `GET ${path} HTTP/1.1\r\nHost: a b` },
]

test('lookups and certificates have the same bytes with a query, which the router answers, and without', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await untilLogged(service, 1)
  for (const path of [`/api/v1/agent/${did}`, `/api/v1/agent/${did}/certificate`]) {
    for (const { name, status, of } of REQUESTS) {
      const answered = await bytesOf(service.url, of(path))
      assert.equal(answered, await bytesOf(service.url, of(`${path}?`)), `${name}: ${path}`)
      assert.ok(answered.startsWith(`HTTP/1.1 ${status} `), `${name}: ${answered}`)
    }
    const get = (spelling: string) =>
      bytesOf(service.url, `GET ${path.replace(did, spelling)} HTTP/1.1\r\nHost: a`)
    for (const spelling of [did.slice(-24), encodeURIComponent(did), did.replace(':', '%3a')]) {
      assert.equal(await get(spelling), await get(did), spelling)
    }
  }
})

/** What the service sends before it ends the connection, without the date and the random id of the request. */
async function bytesOf(url: string, head: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.setEncoding('latin1')
  let bytes = ''
  socket.on('data', (text) => (bytes += text))
  socket.write(`${head}\r\nConnection: close\r\n\r\n`)
  await once(socket, 'end')
  return bytes.replace(/^Date: .*\r\n/im, '').replaceAll(/req_\w+/g, 'req_')
}
