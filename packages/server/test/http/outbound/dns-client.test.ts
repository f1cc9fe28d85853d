import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startDnsServer } from '../../../../../test/support/dns-server.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { DnsClient } from '../../../src/http/outbound/dns-client.ts'
import { outcomeOf } from './test-perspective.ts'

async function viewOf(t: TestContext, options: Parameters<typeof startDnsServer>[1] = {}) {
  const dns = await startDnsServer(t, options)
  // The DNS server is in this process: a short pause of the process must not look like a time-out.
  const view = new DnsClient(dns.address, { timeoutMs: 10_000, tries: 1 })
  t.after(() => view.close())
  return { dns, txt: (name: string) => outcomeOf(view.txt(name)), view }
}

const NAME = '_svc-challenge.example.com'

test('the strings of a TXT record are joined, and separate records stay separate', async (t) => {
  const { dns, txt } = await viewOf(t)
  dns.set(NAME, 'TXT', [['token=a', 'b did=', 'c'], 'v=spf1 -all', ''])
  assert.deepEqual(await txt(NAME), { found: ['token=ab did=c', 'v=spf1 -all', ''] })
})

test('a wildcard answers for names that do not exist, not for those that do', async (t) => {
  const { dns, txt } = await viewOf(t)
  dns.set('*.example.com', 'TXT', ['wild'])
  assert.deepEqual(await txt(NAME), { found: ['wild'] })
  dns.set(NAME, 'A', ['192.0.2.1'])
  assert.deepEqual(await txt(NAME), {
    error: 'ProofAbsent',
    message: `${NAME} has no TXT record in the DNS.`,
  })
})

test('a chain of CNAMEs is followed, even if the resolver does not follow it', async (t) => {
  for (const followCnames of [true, false]) {
    const { dns, txt, view } = await viewOf(t, { followCnames })
    dns.set(NAME, 'CNAME', ['one.example.net'])
    dns.set('one.example.net', 'CNAME', ['two.example.org'])
    dns.set('two.example.org', 'TXT', ['there'])
    dns.set('two.example.org', 'A', ['192.0.2.7'])
    assert.deepEqual(await txt(NAME), { found: ['there'] })
    assert.deepEqual(await view.addresses(NAME), ['192.0.2.7'])
  }
})

test('a CNAME whose target does not exist or has no such record counts as no record', async (t) => {
  for (const followCnames of [true, false]) {
    const { dns, txt } = await viewOf(t, { followCnames })
    dns.set(NAME, 'CNAME', ['other.example.net'])
    const none = await txt(NAME)
    assert.ok('error' in none)
    assert.equal(none.error, 'ProofAbsent')
    dns.set('other.example.net', 'A', ['192.0.2.1'])
    const noText = await txt(NAME)
    assert.ok('error' in noText)
    assert.equal(noText.error, 'ProofAbsent')
    assert.ok(noText.message.startsWith(`other.example.net, to which ${NAME} leads, has no TXT`))
  }
})

test('a loop of CNAMEs is Unreachable', async (t) => {
  for (const followCnames of [true, false]) {
    const { dns, txt } = await viewOf(t, { followCnames })
    dns.set(NAME, 'CNAME', ['other.example.net'])
    dns.set('other.example.net', 'CNAME', [NAME])
    const circle = await txt(NAME)
    assert.ok('error' in circle && circle.error === 'Unreachable')
  }
})

test('NXDOMAIN and a missing record type are ProofAbsent', async (t) => {
  const { dns, txt } = await viewOf(t)
  assert.deepEqual(await txt(NAME), {
    error: 'ProofAbsent',
    message: `${NAME} does not exist in the DNS.`,
  })
  dns.set(`below.${NAME}`, 'TXT', ['deeper'])
  assert.deepEqual(await txt(NAME), {
    error: 'ProofAbsent',
    message: `${NAME} has no TXT record in the DNS.`,
  })
})

test('SERVFAIL, REFUSED, a time-out and an invalid name are Unreachable', async (t) => {
  const { dns, txt } = await viewOf(t)
  dns.set(NAME, 'TXT', ['there'])
  const impatient = new DnsClient(dns.address, { timeoutMs: 250, tries: 1 })
  t.after(() => impatient.close())
  const why = { SERVFAIL: 'SERVFAIL', REFUSED: 'REFUSED', silence: 'does not answer in time' }
  for (const failure of ['SERVFAIL', 'REFUSED', 'silence'] as const) {
    dns.fail(NAME, failure)
    const failed = await (failure === 'silence' ? outcomeOf(impatient.txt(NAME)) : txt(NAME))
    assert.ok('error' in failed && failed.error === 'Unreachable', failure)
    assert.ok(failed.message.startsWith(`${NAME}: the DNS server ${dns.address} `), failed.message)
    assert.ok(failed.message.includes(why[failure]), failed.message)
  }
  dns.fail(NAME, null)
  assert.deepEqual(await txt(NAME), { found: ['there'] })
  const noName = await txt('two..dots')
  assert.ok('error' in noName && noName.error === 'Unreachable')
})

test('a resolver that does not run is Unreachable', async (t) => {
  const view = new DnsClient(`127.0.0.1:${await freePort()}`, { timeoutMs: 250, tries: 1 })
  t.after(() => view.close())
  const lost = await outcomeOf(view.txt(NAME))
  assert.ok('error' in lost && lost.error === 'Unreachable')
})

test('a truncated answer is retried over TCP', async (t) => {
  const { dns, txt } = await viewOf(t)
  const records = Array.from({ length: 40 }, (_, index) => `${index}:${'x'.repeat(200)}`)
  dns.set(NAME, 'TXT', records)
  dns.truncate(NAME)
  assert.deepEqual(await txt(NAME), { found: records })
  assert.equal(dns.asked(NAME), 2)
})

test('nothing is cached: a changed record is seen at once', async (t) => {
  const { dns, txt } = await viewOf(t)
  dns.set(NAME, 'TXT', ['before'])
  assert.deepEqual(await txt(NAME), { found: ['before'] })
  dns.set(NAME, 'TXT', ['after'])
  assert.deepEqual(await txt(NAME), { found: ['after'] })
  dns.remove(NAME)
  const gone = await txt(NAME)
  assert.ok('error' in gone && gone.error === 'ProofAbsent')
})

test('addresses: one family is enough; none is ProofAbsent, a failed query is Unreachable', async (t) => {
  const { dns, view } = await viewOf(t)
  const host = 'agents.example.com'
  dns.set(host, 'AAAA', ['2001:db8::1'])
  assert.deepEqual(await view.addresses(host), ['2001:db8::1'])
  dns.set(host, 'A', ['192.0.2.2', '192.0.2.3'])
  assert.deepEqual(await view.addresses(host), ['192.0.2.2', '192.0.2.3', '2001:db8::1'])
  dns.remove(host)
  const none = await outcomeOf(view.addresses(host))
  assert.deepEqual(none, { error: 'ProofAbsent', message: `${host} does not exist in the DNS.` })
  dns.fail(host, 'SERVFAIL')
  const failed = await outcomeOf(view.addresses(host))
  assert.ok('error' in failed && failed.error === 'Unreachable')
})

test('a resolver can have an IPv6 address', async (t) => {
  const { dns, txt } = await viewOf(t, { host: '::1' })
  assert.match(dns.address, /^\[::1\]:\d+$/)
  dns.set(NAME, 'TXT', ['by IPv6'])
  assert.deepEqual(await txt(NAME), { found: ['by IPv6'] })
})
