import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startDnsServer } from '../../../../../test/support/dns-server.ts'
import { startHttpsSite } from '../../../../../test/support/https-site.ts'
import { openTestPerspective } from './test-perspective.ts'

const HOST = 'agents.example.com'

async function siteWith(t: TestContext, options: Parameters<typeof startHttpsSite>[2]) {
  const dns = await startDnsServer(t)
  dns.set(HOST, 'A', ['127.0.0.1'])
  const site = await startHttpsSite(t, [HOST], options)
  site.serve('/', { body: 'hello' })
  const { get } = openTestPerspective(t, dns, { loopbackHosts: new Map([[HOST, site.port]]) })
  return { site, get: () => get(`https://${HOST}/`) }
}

test('a certificate of a trusted authority for the host, or a wildcard, is accepted', async (t) => {
  for (const certifiedFor of [[HOST], ['*.example.com']]) {
    const { get } = await siteWith(t, { certifiedFor })
    assert.ok('found' in (await get()))
  }
})

test('a certificate for another name is rejected before a request is sent', async (t) => {
  const { site, get } = await siteWith(t, { certifiedFor: ['other.example.com'] })
  assert.deepEqual(await get(), {
    error: 'Unreachable',
    message: `${HOST} has a certificate for another name.`,
  })
  assert.equal(site.requests.length, 0)
})

test('a certificate of an unknown authority is rejected before a request is sent', async (t) => {
  const { site, get } = await siteWith(t, { authority: 'unknown' })
  const refused = await get()
  assert.ok('error' in refused && refused.error === 'Unreachable')
  assert.match(refused.message, /^agents\.example\.com has a certificate of an untrusted authority/)
  assert.equal(site.requests.length, 0)
})

test('NODE_TLS_REJECT_UNAUTHORIZED does not disable certificate verification', async (t) => {
  const { site, get } = await siteWith(t, { authority: 'unknown' })
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
  const refused = await get()
  assert.ok('error' in refused && refused.error === 'Unreachable')
  assert.equal(site.requests.length, 0)
})

test('a host that speaks plain HTTP instead of TLS is unreachable', async (t) => {
  const dns = await startDnsServer(t)
  dns.set(HOST, 'A', ['127.0.0.1'])
  const plain = createServer((_request, response) => response.end('hello'))
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
  t.after(() => plain.close())
  const { port } = plain.address() as AddressInfo
  const { get } = openTestPerspective(t, dns, { loopbackHosts: new Map([[HOST, port]]) })
  assert.deepEqual(await get(`https://${HOST}/`), {
    error: 'Unreachable',
    message: `The TLS connection to ${HOST} failed.`,
  })
})
