import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopbackAddress, isPublicAddress } from '../../../src/core/network/guarded-connect.ts'

test('public addresses are recognized', () => {
  for (const address of [
    ...['1.1.1.1', '8.8.8.8', '192.0.1.1', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
    ...['2606:4700:4700::1111', '2a00:1450::', '2001:200::1', '2620:4f:7fff::1', '::ffff:1.1.1.1'],
  ]) {
    assert.ok(isPublicAddress(address), address)
  }
})

/** A representative of every block of the IANA special-purpose registries, and what hides an IPv4 address. */
const SPECIAL: Readonly<Record<string, readonly string[]>> = {
  'this network': ['0.0.0.0', '0.1.2.3'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', 'fc00::1', 'fdff::1'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  'link-local': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'febf::1', 'fec0::1'],
  'protocol assignments': ['192.0.0.1', '192.0.0.170', '2001:1ff::1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  AMT: ['192.52.193.1', '2001:3::1'],
  AS112: ['192.31.196.1', '192.175.48.1', '2001:4:112::1', '2620:4f:8000::1'],
  ORCHID: ['2001:10::1', '2001:20::1', '2001:30::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  reserved: ['240.0.0.1', '255.255.255.254', '4000::1', 'fe00::1'],
  broadcast: ['255.255.255.255'],
  unspecified: ['::'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:169.254.169.254'],
  'IPv4-compatible': ['::127.0.0.1', '::10.0.0.1', '::7f00:1'],
  'IPv4-translated': ['::ffff:0:127.0.0.1', '::ffff:0:1.1.1.1'],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::1.1.1.1', '64:ff9b:1::7f00:1'],
  '6to4': ['192.88.99.1', '2002:7f00:1::', '2002:a00:1::1'],
  Teredo: ['2001::1', '2001:0:7f00:1::'],
  'discard-only': ['100::1'],
  'segment routing': ['5f00::1'],
}

for (const [name, addresses] of Object.entries(SPECIAL)) {
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
