import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startDnsServer } from '../../../../../test/support/dns-server.ts'
import { openTestPerspective, startCanary } from './test-perspective.ts'

/** Spellings of this machine and of what is near it. URL turns most into their one canonical form; none gets through. */
const LITERALS = [
  ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0x7f.1', '127.0.0.1.'],
  ...['[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[0:0:0:0:0:0:0:1]'],
  ...['0.0.0.0', '0', '[::]', 'localhost', 'localhost.', 'LOCALHOST', '%6cocalhost'],
  ...['①②⑦.⓪.⓪.①', '127。0。0。1', '%31%32%37.0.0.1'],
  ...['169.254.169.254', '10.0.0.1', '10.0.0.10', '172.16.0.1', '192.168.0.1', '100.64.0.1'],
  ...['[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fe80::1]', '[fc00::1]', '[fec0::1]'],
  ...['1.1.1.1', '[2606:4700:4700::1111]'],
]

test('URLs with an address in any spelling, or localhost, are rejected', async (t) => {
  const canary = await startCanary(t)
  const dns = await startDnsServer(t)
  for (const name of ['localhost', '127.0.0.1', '127.1']) dns.set(name, 'A', ['127.0.0.1'])
  const { get } = openTestPerspective(t, dns, { port: canary.port })
  for (const host of LITERALS) {
    const answer = await get(`https://${host}/`)
    assert.ok('error' in answer && answer.error === 'Unreachable', host)
    assert.match(answer.message, /is not the name of a host on the public internet\.$/, host)
  }
  assert.equal(canary.connections, 0)
})

const ANSWERS = {
  A: [
    ...['127.0.0.1', '127.8.8.8', '0.0.0.0', '10.0.0.1', '172.16.0.1', '192.168.0.1'],
    ...['169.254.169.254', '100.64.0.1', '192.0.0.1', '198.18.0.1', '192.0.2.1', '192.52.193.1'],
    ...['192.31.196.1', '192.88.99.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ],
  AAAA: [
    ...['::1', '::', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::127.0.0.1', '::ffff:0:7f00:1'],
    ...['64:ff9b::7f00:1', '64:ff9b:1::7f00:1', '2002:7f00:1::', '2001:0:7f00:1::', 'fe80::1'],
    ...['fc00::1', 'fec0::1', 'ff02::1', '2001:db8::1', '2001:2::1', '2001:3::1', '100::1'],
  ],
} as const

test('addresses from the DNS that are not public are never connected to', async (t) => {
  const canary = await startCanary(t)
  const dns = await startDnsServer(t)
  const { get } = openTestPerspective(t, dns, { port: canary.port })
  for (const type of ['A', 'AAAA'] as const) {
    for (const address of ANSWERS[type]) {
      dns.remove('agents.example.com')
      dns.set('agents.example.com', type, [address])
      const answer = await get('https://agents.example.com/')
      assert.ok('error' in answer && answer.error === 'Unreachable', address)
      assert.match(
        answer.message,
        /^agents\.example\.com resolves to an address that is not a public address\.$/,
      )
    }
  }
  assert.equal(canary.connections, 0)
})

test('one non-public address among public ones rejects the host', async (t) => {
  const canary = await startCanary(t)
  const dns = await startDnsServer(t)
  const dialled: string[] = []
  const { get } = openTestPerspective(t, dns, {
    port: canary.port,
    dial: (options) => {
      dialled.push(String(options.host))
      return connect(canary.port, '127.0.0.1')
    },
  })
  for (const answers of [{ A: ['1.1.1.1', '127.0.0.1'] }, { A: ['1.1.1.1'], AAAA: ['::1'] }]) {
    dns.remove('agents.example.com')
    for (const [type, records] of Object.entries(answers)) {
      dns.set('agents.example.com', type as 'A' | 'AAAA', records)
    }
    const answer = await get('https://agents.example.com/')
    assert.ok('error' in answer && answer.error === 'Unreachable')
    assert.match(answer.message, /resolves to an address that is not a public address/)
  }
  assert.deepEqual(dialled, [])
  assert.equal(canary.connections, 0)
})

test('the canary server is reachable: an allowed connection is counted', async (t) => {
  const canary = await startCanary(t)
  const dns = await startDnsServer(t)
  const loopbackHosts = new Map([['agents.example.com', canary.port]])
  const { get } = openTestPerspective(t, dns, { loopbackHosts, port: canary.port })
  for (const [type, address] of [
    ['A', '127.0.0.1'],
    ['AAAA', '::1'],
  ] as const) {
    dns.remove('agents.example.com')
    dns.set('agents.example.com', type, [address])
    await get('https://agents.example.com/')
  }
  assert.equal(canary.connections, 2)
})
