import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { startDnsServer } from '../../../../../test/support/dns-server.ts'
import { startHttpsSite } from '../../../../../test/support/https-site.ts'
import { openSender, type Sender } from '../../../src/http/outbound/open-sender.ts'
import { startCanary } from './test-perspective.ts'

const HOST = 'hooks.example.com'
const URL_OF_HOOK = new URL(`https://${HOST}/hook?a=b`)
const MESSAGE = { headers: { 'content-type': 'application/json' }, body: '{"a":"é"}' }

interface Options {
  readonly loopbackPort?: number
  readonly timeLimitMs?: number
  readonly baseUrl?: string
}

async function openWorld(t: { after(end: () => unknown): void }, options: Options = {}) {
  const dns = await startDnsServer(t)
  const { loopbackPort, timeLimitMs, baseUrl = 'https://issuer.example' } = options
  const hosts = loopbackPort === undefined ? [] : [[HOST, loopbackPort] as const]
  const settings = {
    dnsResolvers: [dns.address],
    loopbackHosts: new Map(hosts),
    baseUrl: new URL(baseUrl),
  }
  const sender = openSender(settings, 'Countersign/test', timeLimitMs)
  t.after(() => sender.close())
  dns.set(HOST, 'A', ['127.0.0.1'])
  return { dns, sender }
}

const refused = (sender: Sender, url: URL, message: RegExp) =>
  assert.rejects(sender.post(url, MESSAGE), message)

test('a message arrives whole, and the status comes back, whatever the body', async (t) => {
  const site = await startHttpsSite(t, [HOST])
  const { sender } = await openWorld(t, { loopbackPort: site.port })
  let body = ''
  site.serve('/hook', async (request, response) => {
    body = await text(request)
    response.writeHead(202).end('x'.repeat(1_000_000))
  })
  assert.equal((await sender.post(URL_OF_HOOK, MESSAGE)).status, 202)
  assert.equal(body, MESSAGE.body)
  const [request] = site.requests
  assert.deepEqual([request?.method, request?.url], ['POST', '/hook?a=b'])
  assert.equal(request?.headers['user-agent'], 'Countersign/test')
  // A body that never ends does not matter: the status is known.
  site.serve('/hook', (_request, response) => void response.writeHead(200).write('…'))
  assert.equal((await sender.post(URL_OF_HOOK, MESSAGE)).status, 200)
})

test('a redirect is returned and not followed', async (t) => {
  const site = await startHttpsSite(t, [HOST])
  const { sender } = await openWorld(t, { loopbackPort: site.port })
  const canary = await startCanary(t)
  const location = `http://127.0.0.1:${canary.port}/`
  site.serve('/hook', { status: 307, headers: { location } })
  assert.equal((await sender.post(URL_OF_HOOK, MESSAGE)).status, 307)
  assert.equal(site.requests.length, 1)
  assert.equal(canary.connections, 0)
})

test('a receiver that says nothing is given up, and closing aborts a request', async (t) => {
  const site = await startHttpsSite(t, [HOST])
  site.serve('/hook', () => undefined)
  const short = await openWorld(t, { loopbackPort: site.port, timeLimitMs: 300 })
  await refused(short.sender, URL_OF_HOOK, /does not answer in time/)
  const { sender } = await openWorld(t, { loopbackPort: site.port })
  const stopped = new AbortController()
  const post = sender.post(URL_OF_HOOK, MESSAGE, stopped.signal)
  stopped.abort()
  await assert.rejects(post, /was cancelled/)
  const closed = sender.post(URL_OF_HOOK, MESSAGE)
  await sender.close()
  await assert.rejects(closed, /was cancelled/)
})

test('a name that resolves to a private address is refused, also if it did not before', async (t) => {
  const canary = await startCanary(t, '::', 0)
  const { dns, sender } = await openWorld(t)
  const private_ = [['127.0.0.1'], ['10.0.0.1'], ['169.254.169.254'], ['1.1.1.1', '192.168.0.1']]
  for (const addresses of private_) {
    dns.set(HOST, 'A', addresses)
    await assert.rejects(sender.check(URL_OF_HOOK), /that is not a public address/)
    await refused(sender, URL_OF_HOOK, /that is not a public address/)
  }
  // DNS rebinding: public when it is registered, loopback when it is delivered.
  dns.setInTurn(HOST, 'A', [['1.1.1.1'], ['127.0.0.1']])
  await sender.check(URL_OF_HOOK)
  await refused(sender, URL_OF_HOOK, /resolves to an address that is not a public address/)
  dns.remove(HOST)
  await assert.rejects(sender.check(URL_OF_HOOK), /does not exist in the DNS/)
  assert.equal(canary.connections, 0)
})

test('plain http goes to loopback only, and only from a service on loopback', async (t) => {
  const canary = await startCanary(t, '127.0.0.1')
  const plain = new URL(`http://127.0.0.1:${canary.port}/`)
  const { sender } = await openWorld(t)
  await assert.rejects(sender.check(plain), /must use https/)
  await refused(sender, plain, /must use https/)
  assert.equal(canary.connections, 0)
  const local = await openWorld(t, { baseUrl: 'http://localhost:8080' })
  await local.sender.check(plain)
  await refused(local.sender, plain, /127\.0\.0\.1 /)
  assert.equal(canary.connections, 1)
  await refused(local.sender, new URL('http://example.com/'), /must use https/)
  await refused(local.sender, new URL('http://10.0.0.1/'), /must use https/)
})
