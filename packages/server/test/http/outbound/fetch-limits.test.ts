import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { startDnsServer } from '../../../../../test/support/dns-server.ts'
import { type SiteHandler, startHttpsSite } from '../../../../../test/support/https-site.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { openTestPerspective } from './test-perspective.ts'

const HOST = 'agents.example.com'
const LIMIT = 64 * 1024

async function siteThat(t: TestContext, handler: SiteHandler, timeLimitMs = 10_000) {
  const dns = await startDnsServer(t)
  const site = await startHttpsSite(t, [HOST])
  site.serve('/', handler)
  dns.set(HOST, 'A', ['127.0.0.1'])
  const { get } = openTestPerspective(t, dns, {
    loopbackHosts: new Map([[HOST, site.port]]),
    timeLimitMs,
  })
  return { dns, get: () => get(`https://${HOST}/`) }
}

/** @returns a promise of the end of the connection: the client has hung up */
function writeForever(response: ServerResponse, chunk: Uint8Array): Promise<number> {
  let written = 0
  return new Promise((resolve) => {
    const write = () => {
      while (!response.destroyed && response.write(chunk)) written += chunk.length
    }
    response.on('drain', write)
    response.on('close', () => resolve(written))
    write()
  })
}

const tooMuch = { error: 'Unreachable', message: `${HOST} answers with more than 64 KiB.` }
const tooLate = { error: 'Unreachable', message: `${HOST} does not answer in time.` }

test('a page of 64 KiB is read, one byte more is rejected', async (t) => {
  for (const announced of [true, false]) {
    let size = LIMIT
    const { get } = await siteThat(t, (_request, response) => {
      if (announced) response.setHeader('content-length', size)
      else response.flushHeaders()
      response.end('x'.repeat(size))
    })
    const all = await get()
    assert.ok('found' in all && all.found.text.length === LIMIT)
    size++
    assert.deepEqual(await get(), tooMuch)
  }
})

test('an endless page is rejected, and its connection closed', async (t) => {
  const ended: Promise<number>[] = []
  const { get } = await siteThat(t, (_request, response) => {
    ended.push(writeForever(response, Buffer.alloc(16 * 1024, 'x')))
  })
  assert.deepEqual(await get(), tooMuch)
  await Promise.all(ended)
  assert.equal(ended.length, 1)
})

test('a page that does not arrive, or arrives too slowly, times out', async (t) => {
  const silent = await siteThat(t, () => undefined, 300)
  assert.deepEqual(await silent.get(), tooLate)
  const slow = await siteThat(
    t,
    (_request, response) => {
      response.flushHeaders()
      const drip = setInterval(() => response.write('.'), 20)
      response.on('close', () => clearInterval(drip))
    },
    300,
  )
  assert.deepEqual(await slow.get(), tooLate)
})

test('a host or resolver that accepts the connection and never answers times out', async (t) => {
  const dns = await startDnsServer(t)
  dns.set(HOST, 'A', ['127.0.0.1'])
  const mute = createServer((socket) => socket.on('error', () => undefined))
  const port = await freePort()
  await new Promise<void>((resolve) => mute.listen(port, '127.0.0.1', resolve))
  t.after(() => mute.close())
  const loopbackHosts = new Map([[HOST, port]])
  const patient = openTestPerspective(t, dns, { loopbackHosts, timeLimitMs: 300 })
  assert.deepEqual(await patient.get(`https://${HOST}/`), tooLate)

  dns.fail('*', 'silence')
  const impatient = openTestPerspective(t, dns, { loopbackHosts, timeLimitMs: 50 })
  assert.deepEqual(await impatient.get(`https://${HOST}/`), tooLate)
})

test('headers that are too large are rejected', async (t) => {
  const { get } = await siteThat(t, (_request, response) => {
    for (let index = 0; index < 30; index++) response.setHeader(`x-${index}`, 'y'.repeat(1000))
    response.end('small')
  })
  assert.deepEqual(await get(), {
    error: 'Unreachable',
    message: `${HOST} sends headers that are too large.`,
  })
})

test('a compressed response is rejected without decompressing it', async (t) => {
  for (const [encoding, body] of [
    ['gzip', gzipSync('small')],
    ['gzip', gzipSync(Buffer.alloc(32 * 1024 * 1024))],
    ['br', Buffer.from('small')],
    ['identity, gzip', gzipSync('small')],
  ] as const) {
    const { get } = await siteThat(t, (_request, response) => {
      response.setHeader('content-encoding', encoding)
      response.end(body)
    })
    assert.deepEqual(await get(), {
      error: 'Unreachable',
      message: `${HOST} sends a compressed response, although none was requested.`,
    })
  }
})

test('a host that closes or refuses the connection, or does not speak HTTP, is unreachable and not retried', async (t) => {
  let asked = 0
  const hangsUp = await siteThat(t, (request) => {
    asked++
    request.socket.destroy()
  })
  assert.deepEqual(await hangsUp.get(), {
    error: 'Unreachable',
    message: `${HOST} closes the connection.`,
  })
  assert.equal(asked, 1)

  const halfway = await siteThat(t, (_request, response) => {
    response.setHeader('content-length', 100)
    response.write('half')
    setImmediate(() => response.destroy())
  })
  const half = await halfway.get()
  assert.ok('error' in half && half.error === 'Unreachable')

  const babbles = await siteThat(t, (request) => request.socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
  assert.deepEqual(await babbles.get(), {
    error: 'Unreachable',
    message: `${HOST} does not respond with HTTP.`,
  })

  const dns = await startDnsServer(t)
  dns.set(HOST, 'A', ['127.0.0.1'])
  const loopbackHosts = new Map([[HOST, await freePort()]])
  const nobody = openTestPerspective(t, dns, { loopbackHosts })
  assert.deepEqual(await nobody.get(`https://${HOST}/`), {
    error: 'Unreachable',
    message: `${HOST} refuses connections.`,
  })
})

test('a host without an address is ProofAbsent; one that cannot be resolved is Unreachable', async (t) => {
  const dns = await startDnsServer(t)
  const { get } = openTestPerspective(t, dns)
  assert.deepEqual(await get(`https://${HOST}/`), {
    error: 'ProofAbsent',
    message: `${HOST} does not exist in the DNS.`,
  })
  dns.set(HOST, 'TXT', ['no address'])
  assert.deepEqual(await get(`https://${HOST}/`), {
    error: 'ProofAbsent',
    message: `${HOST} has no address in the DNS.`,
  })
  dns.fail(HOST, 'SERVFAIL')
  const failed = await get(`https://${HOST}/`)
  assert.ok('error' in failed && failed.error === 'Unreachable')
})
