import assert from 'node:assert/strict'
import { test } from 'node:test'
import sodium from 'sodium-native'
import {
  type AgentEntry,
  canonicalJson,
  commitmentTo,
  decodeKey,
  encodeBase64,
  formatLogEntry,
  isAgentEntry,
  type JsonValue,
  keyThumbprint,
  LOG_ENTRY_MAX_BYTES,
  namingFor,
  parseLogEntry,
  rotationSignatures,
  utf8,
} from '../../src/index.ts'
import { bytesOf, readVectors } from '../support/vectors.ts'

const vectors = readVectors<{
  commitment: { shortName: string; saltHex: string; evidence: JsonValue; commitment: string }
}>('transparency-log.json')
const operations = readVectors<{
  valid: {
    operation: string
    service: string
    did: string
    sequence: number
    oldKey: string
    newKey: string
    issuedAt: number
    signatures: { old: string; new: string }
  }[]
}>('key-operations.json')

const hash = encodeBase64(new Uint8Array(32))
const claimed: AgentEntry = {
  v: 1,
  type: 'claimed',
  did: 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj',
  prev: null,
  key: keyThumbprint(new Uint8Array(32)),
  keySequence: 1,
  by: 'agent',
  commitment: hash,
  grade: 'D',
  at: 1_800_000_000_000,
}

test('JSON is written in the canonical form of RFC 8785', () => {
  const example = {
    numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
    string: '\u20ac$\u000f\u000aA\'\u0042\u0022\u005c\\"\u002f',
    literals: [null, true, false],
  }
  const expected =
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
  assert.equal(canonicalJson(example), expected)
  const sorted = {
    '\u20ac': 1,
    '\r': 2,
    '\ufb33': 3,
    '1': 4,
    '\ud83d\ude00': 5,
    '\u0080': 6,
    '\u00f6': 7,
  }
  const order = [...canonicalJson(sorted).matchAll(/:(\d)/g)].map(([, digit]) => digit).join('')
  assert.equal(order, '2467153')
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, '\ud800', { '\ud800': 1 }]) {
    assert.throws(() => canonicalJson(wrong as JsonValue), RangeError)
  }
})

test('names and text of every kind are written as JSON.stringify writes them', () => {
  for (let unit = 0; unit < 0x10000; unit++) {
    if (unit >= 0xd800 && unit <= 0xdfff) continue
    const text = `a${String.fromCharCode(unit)}b`
    assert.equal(canonicalJson(text), JSON.stringify(text))
    assert.equal(canonicalJson({ [text]: 1 }), JSON.stringify({ [text]: 1 }))
  }
  const pair = '\ud83d\ude00'
  for (const text of ['', pair, `"${pair}\\`])
    assert.equal(canonicalJson(text), JSON.stringify(text))
  for (const lone of ['\udbff', '\udc00', '\ude00\ud83d', `${pair}\ud83d`, 'a\udfffb']) {
    assert.throws(() => canonicalJson(lone), RangeError)
    assert.throws(() => canonicalJson([{ [lone]: null }]), RangeError)
  }
  assert.equal(canonicalJson([-0, [], {}, [[]], { a: {} }, '']), '[0,[],{},[[]],{"a":{}},""]')
  const own = JSON.parse('{"b":1,"__proto__":{"d":2,"c":3},"10":4,"9":5,"":6}') as JsonValue
  assert.equal(canonicalJson(own), '{"":6,"10":4,"9":5,"__proto__":{"c":3,"d":2},"b":1}')
})

test('the commitment is that of Go', () => {
  const { shortName, saltHex, evidence, commitment } = vectors.commitment
  assert.equal(commitmentTo(namingFor(shortName), bytesOf(saltHex), evidence), commitment)
  assert.notEqual(commitmentTo(namingFor('id'), bytesOf(saltHex), evidence), commitment)
  assert.throws(() => commitmentTo(namingFor(), new Uint8Array(31), evidence), RangeError)
})

test('an entry is canonical JSON, and is read back', () => {
  const bytes = formatLogEntry(claimed)
  assert.ok(new TextDecoder().decode(bytes).startsWith('{"at":1800000000000,"by":"agent",'))
  assert.deepEqual(parseLogEntry(bytes), claimed)
  const complete = { v: 1, type: 'complete', agents: 3, at: 1 } as const
  const read = parseLogEntry(formatLogEntry(complete))
  assert.ok(read !== null && !isAgentEntry(read))
})

test('types and members of later releases are kept', () => {
  const later = { ...claimed, type: 'moved', place: 'there' } as unknown as AgentEntry
  assert.deepEqual(parseLogEntry(formatLogEntry(later)), later)
})

test('an entry in another form is refused', () => {
  const text = new TextDecoder().decode(formatLogEntry(claimed))
  for (const wrong of [
    '',
    'null',
    '[]',
    ` ${text}`,
    text.replace('{', '{"at":1,'),
    text.replace('"v":1', '"v":2'),
    text.replace('"agent"', '"nobody"'),
    text.replace(hash, hash.slice(1)),
    text.replace('1800000000000', '1.5'),
    text.replace('"prev":null', '"prev":"x"'),
    JSON.stringify(claimed),
    `\ufeff${text}`,
  ]) {
    assert.equal(parseLogEntry(utf8(wrong)), null, wrong)
  }
  assert.equal(parseLogEntry(Uint8Array.of(0xff)), null)
})

test('an entry of 1,024 bytes is refused, one of 1,023 is not', () => {
  const padded = (count: number) =>
    ({ ...claimed, reason: 'x'.repeat(count) }) as unknown as AgentEntry
  const room = LOG_ENTRY_MAX_BYTES - 1 - formatLogEntry(padded(0)).length
  assert.equal(formatLogEntry(padded(room)).length, 1023)
  assert.throws(() => formatLogEntry(padded(room + 1)), RangeError)
})

test('anyone can verify the signatures of a rotation', () => {
  const rotation = operations.valid.find(({ operation }) => operation === 'rotate')
  assert.ok(rotation)
  const { service, did, sequence, oldKey, newKey, issuedAt, signatures } = rotation
  const entry = {
    ...claimed,
    type: 'key_rotated' as const,
    did,
    key: keyThumbprint(decodeKey(newKey) as Uint8Array),
    keySequence: sequence,
    service,
    prevKey: oldKey,
    newKey,
    issuedAt,
    oldSignature: signatures.old,
    newSignature: signatures.new,
  }
  assert.ok(formatLogEntry(entry).length < LOG_ENTRY_MAX_BYTES)
  const found = rotationSignatures(namingFor(), entry) ?? []
  assert.equal(found.length, 2)
  for (const { publicKey, message, signature } of found)
    assert.ok(isSigned(publicKey, message, signature))
  const moved = rotationSignatures(namingFor(), { ...entry, keySequence: sequence + 1 }) ?? []
  for (const each of moved) assert.ok(!isSigned(each.publicKey, each.message, each.signature))
  assert.equal(rotationSignatures(namingFor(), { ...entry, key: claimed.key }), null)
  assert.equal(rotationSignatures(namingFor(), { ...entry, oldSignature: 'x' }), null)
  const other = { ...entry, oldSignature: undefined as unknown as string }
  assert.equal(rotationSignatures(namingFor(), other), null)
})

function isSigned(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return sodium.crypto_sign_verify_detached(
    Buffer.from(signature),
    Buffer.from(message),
    Buffer.from(key),
  )
}
