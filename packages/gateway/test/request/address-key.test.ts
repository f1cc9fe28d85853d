import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressKey } from '../../src/request/address-key.ts'

const KEYS: Readonly<Record<string, string>> = {
  '192.0.2.7': '192.0.2.7',
  '::ffff:192.0.2.7': '192.0.2.7',
  '0:0:0:0:0:ffff:192.0.2.7': '192.0.2.7',
  '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
  '2001:DB8:1:2:ffff::1': '2001:db8:1:2::/64',
  '2001:0db8:0001:0002::': '2001:db8:1:2::/64',
  '2001:db8::1': '2001:db8:0:0::/64',
  '::1': '0:0:0:0::/64',
  'fe80::1%eth0': 'fe80:0:0:0::/64',
  '': '',
}

for (const [address, key] of Object.entries(KEYS)) {
  test(`${address || 'no address'} counts as ${key || 'no address'}`, () => {
    assert.equal(addressKey(address), key)
  })
}

test('all addresses in one /64 have the same key', () => {
  const group = fc.integer({ min: 0, max: 0xffff }).map((n) => n.toString(16))
  const groups = fc.array(group, { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(groups, groups, (a, b) => {
      const [first, second] = [a.join(':'), [...a.slice(0, 4), ...b.slice(4)].join(':')]
      assert.equal(addressKey(first), addressKey(second))
    }),
  )
})

test('the key is short for any text that a proxy sends as an address', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 500 }), (text) => assert.ok(addressKey(text).length <= 70)),
  )
})
