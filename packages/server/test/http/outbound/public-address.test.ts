import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PUBLIC_ADDRESSES, SPECIAL_ADDRESSES } from '../../../../../test/support/addresses.ts'
import { isLoopbackAddress, isPublicAddress } from '../../../src/http/outbound/guarded-connect.ts'

test('public addresses are recognized', () => {
  for (const address of [...PUBLIC_ADDRESSES, '::ffff:1.1.1.1']) {
    assert.ok(isPublicAddress(address), address)
  }
})

for (const [name, addresses] of Object.entries(SPECIAL_ADDRESSES)) {
  test(`${name}: no public address`, () => {
    for (const address of addresses) assert.equal(isPublicAddress(address), false, address)
  })
}

test('text that is not an address is neither public nor loopback', () => {
  for (const text of ['', 'localhost', 'example.com', '1.1.1.1.', '256.1.1.1', '[::1]', 'nobody']) {
    assert.equal(isPublicAddress(text), false, text)
    assert.equal(isLoopbackAddress(text), false, text)
  }
})

test('loopback is 127.0.0.0/8 and ::1, also IPv4-mapped, and nothing else', () => {
  for (const address of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1']) {
    assert.ok(isLoopbackAddress(address), address)
  }
  for (const address of ['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '64:ff9b::7f00:1', '1.1.1.1']) {
    assert.equal(isLoopbackAddress(address), false, address)
  }
})
