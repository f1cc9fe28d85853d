import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PUBLIC_ADDRESSES, SPECIAL_ADDRESSES } from '../../../test/support/addresses.ts'
import { isPublicAddress } from '../src/index.ts'

test('public addresses are recognized', () => {
  for (const address of PUBLIC_ADDRESSES) assert.ok(isPublicAddress(address), address)
})

test('special addresses, and other spellings of addresses, are not public', () => {
  for (const address of Object.values(SPECIAL_ADDRESSES).flat()) {
    assert.equal(isPublicAddress(address), false, address)
  }
  for (const text of [
    ...['', 'localhost', '1.1.1', '1.1.1.1.', '01.1.1.1', '256.1.1.1', '0x1.1.1.1', ' 1.1.1.1'],
    ...[
      '[2a00::1]',
      '2a00::1%eth0',
      '2a00:::1',
      '2a00::1::2',
      '2a00:1',
      '12a00::1',
      '2a00:1:2:3:4:5:6:7:8',
    ],
    ...['::ffff:1.1.1.1', '2a00::1.1.1.1'],
  ]) {
    assert.equal(isPublicAddress(text), false, text)
  }
})
