import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { identityHeaderMatcher } from '../../src/request/headers.ts'

const isIdentity = identityHeaderMatcher('ServiceID')

test('every spelling that a server may map to X-ServiceID-… matches', () => {
  for (const name of [
    'X-ServiceID-Verified',
    'x-serviceid-did',
    'X_ServiceID_Verified',
    'X_SERVICEID-Status',
    'x.serviceid.did',
    'X-ServiceID-',
    'X-ServiceID-Anything-Else',
  ]) {
    assert.ok(isIdentity(name), name)
  }
})

test('other headers do not match', () => {
  for (const name of [
    'ServiceID',
    'X-ServiceID',
    'X-ServiceIDs-DID',
    'XX-ServiceID-DID',
    'X-Service-ID-DID',
    'AX-ServiceID-DID',
    'X-Forwarded-For',
    '',
    'x',
  ]) {
    assert.ok(!isIdentity(name), name)
  }
})

test('a header name with hyphens matches only its own identity headers', () => {
  const acme = identityHeaderMatcher('Acme-ID')
  assert.ok(acme('x_acme_id_decision'))
  assert.ok(acme('X-Acme-ID-Decision'))
  assert.ok(!acme('X-ServiceID-DID'))
})

test('letter case and the character in place of a hyphen never matter', () => {
  const separators = fc.constantFrom(...'-_.!#$%&*+^|~')
  const cased = (word: string) =>
    fc
      .array(fc.boolean(), { minLength: word.length, maxLength: word.length })
      .map((upper) => [...word].map((c, i) => (upper[i] ? c.toUpperCase() : c)).join(''))
  fc.assert(
    fc.property(
      cased('x'),
      separators,
      cased('serviceid'),
      separators,
      fc.string(),
      (x, a, id, b, rest) => {
        assert.ok(isIdentity(`${x}${a}${id}${b}${rest}`))
      },
    ),
  )
})
