import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestVerifier, SIGNATURE_REASONS } from '../../src/index.ts'
import { optionsOf, validRequest, vectors } from '../support/delegation.ts'
import { requestOf } from '../support/signed-requests.ts'

for (const each of vectors.valid) {
  const { name, request, did, hops } = each
  test(`delegated: ${name}`, async () => {
    const verify = requestVerifier(optionsOf(each, { nonces: null }))
    for (const time of ['first', 'second']) {
      const result = await verify(requestOf(request))
      assert.equal(result.reason, null, time)
      assert.deepEqual([result.verdict, result.did], ['verified', did])
      const last = hops.at(-1)
      assert.equal(result.keyid, last?.keyid)
      const expected = { depth: hops.length, keyid: last?.keyid, fault: null, hops }
      assert.deepEqual(result.delegation, expected)
    }
  })
}

for (const each of vectors.invalid) {
  const { name, case: number, request, reason, fault = null, after = [] } = each
  test(`${reason}${fault === null ? '' : ` ${fault}`}: ${name}`, async () => {
    const verify = requestVerifier(optionsOf(each))
    for (const earlier of after) {
      assert.equal((await verify(validRequest(earlier))).verdict, 'verified')
    }
    const result = await verify(requestOf(request))
    assert.deepEqual([result.reason, result.delegation?.fault ?? null], [reason, fault])
    assert.equal(result.verdict, SIGNATURE_REASONS[reason].verdict)
    assert.equal(result.status, SIGNATURE_REASONS[reason].status)
    // Case 52 could not be decided, and what has no chain is not about one.
    if (number !== null && number !== 52 && number !== 26) assert.equal(result.verdict, 'invalid')
  })
}

test('the vectors have every case of the table, and each reason of chains', () => {
  const cases = new Set(vectors.invalid.map((each) => each.case))
  for (let number = 1; number <= 60; number++) assert.ok(cases.has(number), `case ${number}`)
  const reasons = new Set<string>(vectors.invalid.map((each) => each.reason))
  const ofChains = Object.keys(SIGNATURE_REASONS).filter((each) => each.startsWith('delegation-'))
  assert.deepEqual(
    ofChains.filter((each) => !reasons.has(each)),
    [],
  )
})
