import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type AgentReference,
  CodedError,
  decodeKey,
  encodeBase64,
  namingFor,
  parseAgentReference,
  parseDidOrTail,
  parseIdentificationHeader,
  referenceKind,
} from '../src/index.ts'
import { keyBytes, tail } from './support/arbitraries.ts'
import { bytesOf, type Case, forEachCase, hexOf, namingOf, readVectors } from './support/vectors.ts'

interface ValidReference extends Case {
  readonly text: string
  readonly segment: string
  readonly shortName?: string
  readonly kind: 'tail' | 'key'
  readonly tail?: string
  readonly publicKeyHex?: string
}

const references = readVectors<{
  valid: ValidReference[]
  invalid: (Case & { text: string; shortName?: string })[]
}>('agent-reference.json')
const header = readVectors<{
  valid: (Case & { value: string; tail: string })[]
  invalid: (Case & { value: string })[]
}>('identification-header.json')

const naming = namingFor()
const refusal = { name: 'CodedError', code: 'VALIDATION_ERROR' }

test('a DID, a bare tail and a public key are read as what they name', () => {
  forEachCase(references.valid, (each) => {
    const expected =
      each.kind === 'tail'
        ? { kind: 'tail', tail: each.tail }
        : { kind: 'key', publicKey: new Uint8Array(bytesOf(each.publicKeyHex ?? '')) }
    assert.deepEqual(parseAgentReference(namingOf(each), each.text), expected)
  })
})

test('a path segment, percent-decoded once, is the text that is read', () => {
  forEachCase(references.valid, (each) => {
    assert.equal(decodeURIComponent(each.segment), each.text)
    assert.match(each.segment, /^[A-Za-z0-9%]+$/)
  })
})

test('whatever else is written for an agent is refused as VALIDATION_ERROR', () => {
  forEachCase(references.invalid, (each) => {
    assert.throws(() => parseAgentReference(namingOf(each), each.text), refusal)
  })
})

test('the identification header carries a DID or a bare tail', () => {
  forEachCase(header.valid, (each) => {
    assert.equal(parseIdentificationHeader(naming, each.value), each.tail)
  })
})

test('the identification header carries nothing else', () => {
  forEachCase(header.invalid, (each) => {
    assert.throws(() => parseIdentificationHeader(naming, each.value), refusal)
  })
})

test('a refusal speaks of the deployment by its own names', () => {
  const acme = namingFor('acme', 'AcmeID')
  assert.throws(() => parseAgentReference(acme, '?'), {
    message: /^(?=.*acme:agent:)(?!.*(svc|ServiceID))/,
  })
  assert.throws(() => parseIdentificationHeader(acme, '?'), {
    message: /^(?=.*acme:agent:)(?=.*AcmeID)(?!.*(svc|ServiceID))/,
  })
})

const spelled = fc.oneof(
  tail,
  tail.map((text) => naming.didPrefix + text),
  keyBytes.map(encodeBase64),
)
const misspelled = fc
  .tuple(spelled, fc.nat(60), fc.nat(2), fc.string({ maxLength: 2 }))
  .map(([text, at, removed, put]) => text.slice(0, at) + put + text.slice(at + removed))
const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), spelled, misspelled)

function referenceOrNull(text: string): AgentReference | null {
  try {
    return parseAgentReference(naming, text)
  } catch (error) {
    assert.ok(error instanceof CodedError && error.code === 'VALIDATION_ERROR')
    return null
  }
}

test('no text is both a DID or tail and a key', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      assert.ok(parseDidOrTail(naming, text) === null || decodeKey(text) === null)
    }),
    { numRuns: 2000 },
  )
})

test('what is read can be written back to the very text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const reference = referenceOrNull(text)
      if (reference === null) return
      if (reference.kind === 'key') assert.equal(encodeBase64(reference.publicKey), text)
      else assert.ok(text === reference.tail || text === naming.didPrefix + reference.tail)
    }),
    { numRuns: 2000 },
  )
})

test('every tail, DID and canonical key is read', () => {
  fc.assert(
    fc.property(tail, keyBytes, (someTail, key) => {
      assert.deepEqual(referenceOrNull(someTail), { kind: 'tail', tail: someTail })
      assert.deepEqual(referenceOrNull(`svc:agent:${someTail}`), { kind: 'tail', tail: someTail })
      const byKey = referenceOrNull(encodeBase64(key))
      assert.ok(byKey?.kind === 'key')
      assert.equal(hexOf(byKey.publicKey), hexOf(key))
    }),
  )
})

test('the form of a reference is known without the short name of the deployment', () => {
  const TAIL = '7'.repeat(24)
  const KEY = `${'A'.repeat(43)}=`
  assert.equal(referenceKind(`svc:agent:${TAIL}`), 'did')
  assert.equal(referenceKind(`x1234567890abcde:agent:${TAIL}`), 'did')
  assert.equal(referenceKind(TAIL), 'tail')
  assert.equal(referenceKind(KEY), 'key')
  const others = [
    ...['', 'ada', 'verify', '../verify', ` svc:agent:${TAIL}`, `svc:agent:${TAIL}\n`],
    ...[`${TAIL}7`, `SVC:agent:${TAIL}`, `svc:agent:${'0'.repeat(24)}`, `:agent:${TAIL}`],
    ...[`${KEY}=`, `${'A'.repeat(42)}B=`, `did:web:id.example:agent:svc:agent:${TAIL}`],
    `x1234567890abcdef:agent:${TAIL}`,
  ]
  for (const text of others) assert.equal(referenceKind(text), null, text)
})
