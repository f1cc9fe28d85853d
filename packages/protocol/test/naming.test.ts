import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as protocol from '../src/index.ts'
import { type Case, forEachCase, readVectors } from './support/vectors.ts'

const { foreignTextIn, namingFor } = protocol
type Naming = protocol.Naming

interface ValidNaming extends Case {
  readonly shortName: string
  readonly idHeader: string
  readonly didPrefix: string
  readonly didField: string
  readonly tokenPrefix: string
  readonly recoveryTokenPrefix: string
  readonly reportTokenPrefix: string
  readonly challengePrefix: string
  readonly forwardedHeaders: Record<string, string>
}
const vectors = readVectors<{
  valid: ValidNaming[]
  invalidShortNames: (Case & { shortName: string })[]
  invalidIdHeaders: (Case & { idHeader: string })[]
}>('naming.json')

const TAIL = '7Xk2mPqR9sTvWyZaBcDeFgHj'
const DIGITS = '00112233445566778899aabbccddeeff'

test('short name and header decide every name of a deployment', () => {
  forEachCase(vectors.valid, (each) => {
    const naming = namingFor(each.shortName, each.idHeader)
    const { didPattern, tokenPattern, recoveryTokenPattern, ...names } = naming
    const { name: _, ...expected } = each
    assert.deepEqual(names, expected)
    assert.match(each.didPrefix + TAIL, didPattern)
    assert.match(each.tokenPrefix + DIGITS, tokenPattern)
    assert.match(each.recoveryTokenPrefix + DIGITS, recoveryTokenPattern)
    assert.equal(foreignTextIn(`${each.tokenPrefix}${DIGITS}|label`)?.kind, 'claim')
  })
})

test('by default the names are those of the contract', () => {
  const naming = namingFor()
  assert.deepEqual(naming, namingFor('svc', 'ServiceID'))
  assert.equal(naming.didPattern.source, '^svc:agent:[1-9A-HJ-NP-Za-km-z]{24}$')
})

test('what is no short name is refused with RangeError', () => {
  forEachCase(vectors.invalidShortNames, (each) => {
    assert.throws(() => namingFor(each.shortName), RangeError)
  })
})

test('what is no header name is refused with RangeError', () => {
  forEachCase(vectors.invalidIdHeaders, (each) => {
    assert.throws(() => namingFor('svc', each.idHeader), RangeError)
  })
})

/** Everything that the protocol says under a naming, as one text: the names, the patterns and all wire schemas. */
function everythingSaid(naming: Naming): string {
  const schemas = Object.entries(protocol)
    .filter(([name]) => name.endsWith('Schema') || name === 'cardMembers')
    .map(([name, schemaFor]) => [name, (schemaFor as (naming: Naming) => unknown)(naming)])
  assert.ok(schemas.length >= 12, 'all wire schemas are there')
  return JSON.stringify({ naming, schemas: Object.fromEntries(schemas) }, (_, value) =>
    value instanceof RegExp ? value.source : value,
  )
}

test('under another naming neither svc nor ServiceID is said anywhere', () => {
  assert.doesNotMatch(everythingSaid(namingFor('acme', 'AcmeID')), /svc|ServiceID/i)
})

test('under another naming nothing but these two names changes', () => {
  const renamed = everythingSaid(namingFor())
    .replaceAll('svc', 'acme')
    .replaceAll('ServiceID', 'AcmeID')
  assert.equal(everythingSaid(namingFor('acme', 'AcmeID')), renamed)
})

test('deployments of different short names do not take each other’s DIDs, tokens or claims', () => {
  const svc = namingFor()
  assert.doesNotMatch(`acme:agent:${TAIL}`, svc.didPattern)
  assert.doesNotMatch(`acme-verify-${DIGITS}`, svc.tokenPattern)
})

test('a DID, a claim token and a challenge each tell the short name of their deployment', () => {
  const { namingOfChallenge, namingOfDid, namingOfToken } = protocol
  const readers = [
    [namingOfDid, ':agent:'],
    [namingOfToken, '-verify-'],
    [namingOfChallenge, '-challenge-v1:'],
  ] as const
  for (const [read, mark] of readers) {
    assert.deepEqual(read(`acme${mark}x`), namingFor('acme'))
    for (const [other] of readers) if (other !== read) assert.equal(other(`acme${mark}x`), null)
    for (const text of [
      '',
      'acme',
      mark,
      `${mark}x`,
      `ACME${mark}x`,
      `a b${mark}x`,
      `1a${mark}x`,
    ]) {
      assert.equal(read(text), null, text)
    }
  }
})
