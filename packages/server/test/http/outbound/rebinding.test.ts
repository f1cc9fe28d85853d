import assert from 'node:assert/strict'
import { connect, type TcpNetConnectOpts } from 'node:net'
import { test } from 'node:test'
import { startDnsServer } from '../../../../../test/support/dns-server.ts'
import { startHttpsSite } from '../../../../../test/support/https-site.ts'
import { openTestPerspective, startCanary } from './test-perspective.ts'

const HOST = 'agents.example.com'

test('the connection goes to the checked address, which is resolved once', async (t) => {
  const dns = await startDnsServer(t)
  const site = await startHttpsSite(t, [HOST])
  site.serve('/', { body: 'from the first address' })
  const canary = await startCanary(t, '127.0.0.2', site.port)
  dns.setInTurn(HOST, 'A', [['127.0.0.1'], ['127.0.0.2']])
  const { get } = openTestPerspective(t, dns, { loopbackHosts: new Map([[HOST, site.port]]) })

  const first = await get(`https://${HOST}/`)
  assert.ok('found' in first)
  assert.equal(first.found.text, 'from the first address')
  assert.equal(dns.asked(HOST, 'A'), 1)
  assert.equal(canary.connections, 0)

  // The next check asks anew, and no connection of the one before is left over for it.
  await get(`https://${HOST}/`)
  assert.equal(dns.asked(HOST, 'A'), 2)
  assert.equal(canary.connections, 1)
  assert.equal(site.connections, 1)
})

test('DNS rebinding: a name that resolves to loopback after the check is not followed there', async (t) => {
  const dns = await startDnsServer(t)
  const canary = await startCanary(t)
  dns.setInTurn(HOST, 'A', [['1.1.1.1'], ['127.0.0.1']])
  const dialled: unknown[] = []
  const { get } = openTestPerspective(t, dns, {
    port: canary.port,
    dial: (options) => {
      addressesOf(options).then((addresses) => dialled.push(addresses))
      return connect(canary.port, '127.0.0.1')
    },
  })
  const answer = await get(`https://${HOST}/`)
  assert.deepEqual(dialled, [[{ address: '1.1.1.1', family: 4 }]])
  assert.equal(dns.asked(HOST, 'A'), 1)
  assert.ok('error' in answer && answer.error === 'Unreachable')
})

test('nothing is sent if the connected address is not public', async (t) => {
  const dns = await startDnsServer(t)
  const canary = await startCanary(t)
  dns.set(HOST, 'A', ['1.1.1.1'])
  const { get } = openTestPerspective(t, dns, { dial: () => connect(canary.port, '127.0.0.1') })
  const answer = await get(`https://${HOST}/`)
  assert.deepEqual(answer, {
    error: 'Unreachable',
    message: `${HOST} resolves to an address that is not a public address.`,
  })
  assert.equal(canary.bytes, 0)
})

/** What node:net is told that the host's addresses are. */
function addressesOf({ lookup, host = '' }: TcpNetConnectOpts): Promise<unknown> {
  return new Promise((resolve) =>
    lookup?.(host, { all: true }, (_error, addresses) => resolve(addresses)),
  )
}
