import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { startTestService, type TestService } from '../../../../../../test/support/service.ts'
import { until } from '../../../../../../test/support/until.ts'

const LIMIT = 3
const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

async function open({ settings }: TestService, localAddress: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: settings.port, localAddress })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** The whole response to a request on a connection of its own. */
async function askFrom(service: TestService, address: string): Promise<string> {
  const socket = await open(service, address)
  socket.write(REQUEST)
  return text(socket)
}

/** A response whose connection is reset before it is read counts as none. */
function status(response: Promise<string>): Promise<string> {
  return response.then(
    (whole) => whole.slice(9, 12),
    () => 'reset',
  )
}

test('connections of an address past the limit get 503 and are closed; others are served', async (t) => {
  const service = await startTestService(t, { MAX_CONNECTIONS_PER_ADDRESS: String(LIMIT) })
  const sockets: Socket[] = []
  for (let i = 0; i < LIMIT; i++) sockets.push(await open(service, '127.0.0.9'))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })

  // Sends nothing: the answer does not wait for a request.
  const refused = await text(await open(service, '127.0.0.9'))
  assert.match(refused, /^HTTP\/1\.1 503 Service Unavailable\r\n/)
  const [head = '', body = ''] = refused.split('\r\n\r\n')
  assert.match(head, /\r\nretry-after: 2\r\n/)
  assert.match(head, /\r\nconnection: close\r\n/)
  const { error } = JSON.parse(body)
  assert.equal(error.code, 'UNAVAILABLE')
  assert.match(error.requestId, /^req_/)
  assert.equal(await status(askFrom(service, '127.0.0.8')), '200')

  sockets.pop()?.destroy()
  await until(async () => (await status(askFrom(service, '127.0.0.9'))) === '200', 10_000)
})

test('the connections of a trusted proxy are not limited', async (t) => {
  const service = await startTestService(t, {
    MAX_CONNECTIONS_PER_ADDRESS: '1',
    TRUSTED_PROXIES: '127.0.0.8/30',
  })
  const idle = await open(service, '127.0.0.9')
  t.after(() => idle.destroy())
  assert.equal(await status(askFrom(service, '127.0.0.9')), '200')
})
