import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textOfTables } from '../../../../../../test/support/raw-database.ts'
import { startTestService, type TestService } from '../../../../../../test/support/service.ts'
import { addressKey } from '../../../../src/http/limits/address-key.ts'
import { assertLimited, BEHIND_PROXY, failToClaim, LIMITED } from './support.ts'

const ONE = 'failed-claims=1/h'

/** Fails a claim from an address. @returns whether its quota had one left */
async function isNew(service: TestService, from: string): Promise<boolean> {
  const answer = await failToClaim(service, from)
  if (answer.status === 404) return true
  assertLimited(answer, 'failed-claims')
  return false
}

test('quotas are per IPv4 address and per IPv6 /64; IPv4-mapped addresses count as IPv4', async (t) => {
  const service = await startTestService(t, { ...BEHIND_PROXY, RATE_LIMITS: ONE })
  const expected: [string, boolean][] = [
    ['203.0.113.7', true],
    ['203.0.113.7', false],
    ['203.0.113.8', true],
    ['::ffff:203.0.113.8', false],
    ['::ffff:cb00:7107', false],
    ['2001:db8:0:1::1', true],
    ['2001:db8:0:1:ffff:ffff:ffff:ffff', false],
    ['2001:0DB8:0000:0001::2', false],
    ['2001:db8:0:2::1', true],
    ['203.0.113.9:4711', true],
    ['203.0.113.9', false],
    ['[2001:db8:0:2::7]:443', false],
  ]
  for (const [address, fresh] of expected) {
    assert.equal(await isNew(service, address), fresh, address)
  }
})

test('all invalid addresses share one quota', async (t) => {
  const service = await startTestService(t, { ...BEHIND_PROXY, RATE_LIMITS: ONE })
  assert.equal(await isNew(service, 'unknown'), true)
  for (const made of [
    'nobody',
    '2130706433',
    '0x7f.1',
    '203.0.113',
    '_hidden',
    '1.2.3.4.5',
    '::g',
  ]) {
    assert.equal(await isNew(service, made), false, made)
  }
})

test('X-Forwarded-For is ignored unless it comes from a trusted proxy', async (t) => {
  for (const TRUSTED_PROXIES of ['', '192.0.2.0/24']) {
    const service = await startTestService(t, { ...LIMITED, TRUSTED_PROXIES, RATE_LIMITS: ONE })
    assert.equal(await isNew(service, '203.0.113.7'), true)
    assert.equal(await isNew(service, '203.0.113.8'), false, 'a forged header')
    assert.equal(await isNew(service, '192.0.2.1, 203.0.113.9'), false)
    await service.stop()
  }
})

test('the last address in X-Forwarded-For that is not a trusted proxy counts, not what a client wrote before it', async (t) => {
  const TRUSTED_PROXIES = '127.0.0.0/8,::1,192.0.2.0/24'
  const service = await startTestService(t, { ...LIMITED, TRUSTED_PROXIES, RATE_LIMITS: ONE })
  assert.equal(await isNew(service, '203.0.113.7'), true)
  assert.equal(await isNew(service, '198.51.100.1, 203.0.113.7'), false)
  assert.equal(await isNew(service, '198.51.100.1, 203.0.113.7, 192.0.2.9'), false)
  assert.equal(await isNew(service, '198.51.100.1'), true)
})

test('no address is stored', async (t) => {
  const service = await startTestService(t, BEHIND_PROXY)
  await failToClaim(service, '203.0.113.77')
  const text = await textOfTables(service.settings)
  assert.ok(!text.includes('203.0.113') && !text.includes('\xcb\x00\x71'))
  const rows = await service.operator.db.read.selectFrom('rate_counts').select('key').execute()
  assert.equal(rows.length, 1)
  assert.equal(rows[0]?.key.length, 32)
})

test('the part of an address that is counted', () => {
  assert.equal(addressKey('::1'), '0:0:0:0::/64')
  assert.equal(addressKey('fe80::1%eth0'), 'fe80:0:0:0::/64')
  assert.equal(addressKey(''), 'unknown')
})
