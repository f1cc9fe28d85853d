import assert from 'node:assert/strict'
import { test } from 'node:test'
import { didOf, namingFor, type Tail } from '@countersign/protocol'
import fc from 'fast-check'
import { containsProof, proofText } from '../../../src/channels/kinds/chat-kind.ts'

const TAIL = '7sQ2m4VbXk9WcTzRfHpLg3Na' as Tail
const TOKEN = 'Hn5kQ2vW8xYzR3tB6mCdEf'

function textFor(shortName: string): string {
  const naming = namingFor(shortName, 'ServiceID')
  const proof = {
    did: didOf(naming, TAIL),
    token: TOKEN,
    handle: 'x',
    baseUrl: 'https://x.example',
  }
  return proofText({ ...proof, naming, publicKey: new Uint8Array(32), expiresAt: 0 })
}

const TEXT = textFor('svc')

test('the text fits every bio, also with the longest short name, and platforms make no link of it', () => {
  assert.equal(TEXT, `svc-proof:${TAIL}-${TOKEN}`)
  const longest = textFor('a'.repeat(16))
  assert.ok(longest.length <= 70, `${longest.length} characters`)
  assert.match(longest, /^[A-Za-z0-9:-]+$/)
})

test('the text is found if it stands alone', () => {
  const found = [
    TEXT,
    ` ${TEXT} `,
    `Books flights.\n${TEXT}\nEvery day.`,
    `Books flights. ${TEXT}.`,
    `(${TEXT})`,
    `"${TEXT}",`,
    `„${TEXT}“!`,
    `flights|${TEXT}|hotels`,
    `flights · ${TEXT} · hotels`,
    `x${TEXT} and ${TEXT}`,
  ]
  for (const text of found) assert.ok(containsProof(['another', text], TEXT), text)
})

test('the text is not found as part of something longer, or changed', () => {
  const missing = [
    '',
    `x${TEXT}`,
    `${TEXT}x`,
    `${TEXT}é`,
    `${TEXT}-2`,
    `my-${TEXT}`,
    `Proof:${TEXT}`,
    `https://example.com/${TEXT}`,
    `https://example.com/?q=${TEXT}&r=1`,
    `${TEXT}.example.com`,
    `${TEXT}:8443`,
    `${TEXT}@example.com`,
    `@${TEXT}`,
    `#${TEXT}`,
    `x\u200d${TEXT}`,
    TEXT.toUpperCase(),
    TEXT.slice(0, -1),
    TEXT.replace(':', ': '),
    TEXT.replace('proof', 'prооf'),
  ]
  for (const text of missing) assert.ok(!containsProof([text], TEXT), text)
})

test('the text is found among other words', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (before, after) => {
      assert.ok(containsProof([`${before} ${TEXT}\n${after}`], TEXT))
    }),
  )
})

test('the text is not found with letters or digits directly before or after it', () => {
  const word = fc.stringMatching(/^[\p{L}\p{N}_]{1,8}$/u)
  fc.assert(
    fc.property(word, word, (before, after) => {
      assert.ok(!containsProof([`${before}${TEXT}`, `${TEXT}${after}`], TEXT))
    }),
  )
})
