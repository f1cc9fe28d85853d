import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf } from '../src/exit.ts'
import { didOfDidWeb, parseReference, refersTo } from '../src/reference.ts'

const TAIL = '7'.repeat(24)
const DID = `svc:agent:${TAIL}`
const KEY = `${'A'.repeat(43)}=`

test('an agent is named by a DID of any deployment, a tail or a key', () => {
  assert.deepEqual(parseReference(DID), { kind: 'did', text: DID })
  assert.equal(parseReference(`x1234567890abcde:agent:${TAIL}`).kind, 'did')
  assert.equal(parseReference(TAIL).kind, 'tail')
  assert.equal(parseReference(KEY).kind, 'key')
})

test('anything else is wrong usage', () => {
  const others = [
    ...['', 'ada', 'verify', '../verify', ` ${DID}`, `${DID}\n`, `${TAIL}7`, `SVC:agent:${TAIL}`],
    ...[`svc:agent:${'0'.repeat(24)}`, `:agent:${TAIL}`, `${KEY}=`, `${'A'.repeat(42)}B=`],
    ...[`did:web:id.example:agent:${DID}`, `x1234567890abcdef:agent:${TAIL}`],
  ]
  for (const text of others) {
    assert.throws(
      () => parseReference(text),
      (error) => codeOf(error) === 'USAGE',
      text,
    )
  }
})

test('a did:web holds a DID after its host, port and path', () => {
  for (const place of ['id.example', 'localhost%3A8080', 'id.example:deep:agent']) {
    assert.equal(didOfDidWeb(`did:web:${place}:agent:${DID}`), DID, place)
  }
  for (const text of [DID, `did:web:${DID}`, `did:web:id.example:agent:${DID}0`, 'did:key:z6Mk']) {
    assert.equal(didOfDidWeb(text), null, text)
  }
})

test('an answer is about the agent that was asked for', () => {
  assert.ok(refersTo(parseReference(DID), DID))
  assert.ok(refersTo(parseReference(TAIL), `acme:agent:${TAIL}`))
  assert.ok(!refersTo(parseReference(DID), `acme:agent:${TAIL}`))
  assert.ok(!refersTo(parseReference(TAIL), `svc:agent:${'8'.repeat(24)}`))
})
