import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { sendRaw } from '../../../../test/support/raw-http.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { until } from '../../../../test/support/until.ts'
import { Listeners } from '../../src/http/listeners.ts'
import { RenderedCache } from '../../src/http/rendered.ts'

const GET = 'GET /docs/api/account HTTP/1.1\r\nHost: x\r\n\r\n'

test('16 requests at once are answered on a connection, again and again; the 17th ends it', async (t) => {
  const service = await startTestService(t)
  const socket = connect({ host: '127.0.0.1', port: Number(service.env.PORT) })
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  const answered = () => text.split('HTTP/1.1 200 OK').length - 1
  for (const round of [1, 2, 3]) {
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(16))
    await until(async () => answered() === 16 * round)
  }
  // One write, so that the service parses them together.
  for (const request of [GET, 'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: nothing\r\n\r\n']) {
    const { answers, closed } = await sendRaw(service.url, request.repeat(17))
    assert.ok(closed)
    assert.ok(answers.length < 17, `${answers.length}`)
  }
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
})

test('lookups without end of a client that reads nothing end its connection, before their answers fill the memory', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const socket = connect({ host: '127.0.0.1', port: Number(service.env.PORT) })
  await once(socket, 'connect')
  socket.pause()
  let isClosed = false
  socket.on('error', () => undefined).on('close', () => (isClosed = true))
  const lookups = `GET /api/v1/agent/${did} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(100)
  // The kernel takes some megabytes of answers before the first waits here.
  await until(
    async () => {
      if (!isClosed && socket.writableLength === 0) socket.write(lookups)
      return isClosed
    },
    // Before a client that reads nothing is cut off.
    20_000,
    1,
  )
  assert.ok(socket.bytesWritten < 50_000_000, `${socket.bytesWritten}`)
  assert.equal((await fetch(`${service.url}/api/v1/agent/${did}`)).status, 200)
})

test('a client that reads nothing for 30 seconds is cut off; one that reads a little, or for which nothing waits, is not', async (t) => {
  const listeners = new Listeners()
  const server = createServer((_request, response) => response.end(Buffer.alloc(64 * 1024 * 1024)))
  listeners.addServer(server, () => server)
  const accepted: Socket[] = []
  server.on('connection', (socket) => accepted.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const open = async () => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.on('error', () => undefined)
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    await until(async () => accepted.length > 0)
    return { socket, its: accepted.pop() as Socket }
  }
  const idle = await open()
  const stalled = await open()
  const slow = await open()
  for (const { socket, its } of [stalled, slow]) {
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(async () => its.writableLength > 0)
  }
  const { connections } = listeners
  const taken = () => (slow.its as unknown as { _handle: { writeQueueSize: number } })._handle
  for (let now = 0; now <= 60_000; now += 5000) {
    connections.endStalled(now)
    if (now === 25_000) assert.ok(!stalled.its.destroyed)
    if (now === 35_000) assert.ok(stalled.its.destroyed)
    if (now % 20_000 !== 0) continue
    const before = taken().writeQueueSize
    await until(async () => {
      slow.socket.read(64 * 1024)
      return taken().writeQueueSize < before
    })
  }
  assert.ok(!slow.its.destroyed)
  assert.ok(!idle.its.destroyed)
})

test('rendered pages are kept up to a limit, and the one asked for last stays', () => {
  const cache = new RenderedCache(10_000)
  const page = (key: number) => cache.get([key], () => `${key}`.repeat(3000))
  const first = page(1)
  assert.equal(page(1), first)
  page(2)
  page(1)
  page(3)
  page(4)
  assert.ok(cache.size <= 10_000, `${cache.size}`)
  assert.notEqual(page(2).bytes, first.bytes)
  assert.equal(page(1).bytes.toString(), '1'.repeat(3000))
})

test('pages are sent compressed to who accepts it, with an ETag of their own, and 304 without one', async (t) => {
  const service = await startTestService(t)
  for (const path of ['/docs', '/docs/sdk.md', '/', '/openapi.json', '/packages/index.json']) {
    const ask = (headers: Record<string, string>) => fetch(service.url + path, { headers })
    const plain = await ask({ 'accept-encoding': 'identity' })
    const zipped = await ask({ 'accept-encoding': 'gzip' })
    assert.equal(plain.status, 200, path)
    assert.equal(zipped.headers.get('content-encoding'), 'gzip')
    assert.equal(plain.headers.get('content-encoding'), null)
    assert.equal(await zipped.text(), await plain.text())
    assert.match(zipped.headers.get('vary') ?? '', /Accept-Encoding/)
    assert.equal(plain.headers.get('cache-control'), 'public, max-age=60')
    const tags = [plain, zipped].map(({ headers }) => headers.get('etag') as string)
    assert.notEqual(tags[0], tags[1])
    const again = await ask({ 'accept-encoding': 'gzip', 'if-none-match': tags[1] as string })
    assert.equal(again.status, 304)
    assert.equal(again.headers.get('content-encoding'), null)
  }
})
