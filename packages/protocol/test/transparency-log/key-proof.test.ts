import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyEd25519 } from '../../../../test/support/log-client.ts'
import { cosigned, keyEntry, testLog, testNoteKey } from '../../../../test/support/test-log.ts'
import { parsePolicy, verifyKeyProof } from '../../src/index.ts'

const KEY = {
  did: `svc:agent:${'A'.repeat(24)}`,
  keyThumbprint: 'a'.repeat(43),
  keySequence: 2,
}
const logKey = testNoteKey('id.example/log/1')
const witness = testNoteKey('w.example', 'cosignature')
const absent = testNoteKey('absent.example', 'cosignature')
const log = testLog(logKey)
const OTHERS = ['B', 'C', 'D'].map((each) => ({ ...KEY, did: `svc:agent:${each.repeat(24)}` }))
for (const each of OTHERS) log.add(keyEntry(each))
const INDEX = log.add(keyEntry(KEY))
for (const each of OTHERS) log.add(keyEntry(each))

const LOGGED = `log ${logKey.verifierKey}\nquorum none\n`
const WITNESSED = `log ${logKey.verifierKey}\nwitness w ${witness.verifierKey}\nwitness x ${absent.verifierKey}\ngroup g any w x\nquorum g\n`

async function verdict(proof: string, policy = LOGGED, key = KEY): Promise<string> {
  const result = await verifyKeyProof(proof, key, parsePolicy(policy), verifyEd25519)
  return typeof result === 'string' ? result : 'logged'
}

test('the proof of a key verifies, with its place and its witnesses', async () => {
  const proof = cosigned(await log.proof(INDEX), witness)
  const result = await verifyKeyProof(proof, KEY, parsePolicy(WITNESSED), verifyEd25519)
  assert.ok(typeof result !== 'string', String(result))
  assert.deepEqual([result.index, result.checkpoint.size, result.key], [INDEX, 7, logKey.key])
  assert.deepEqual(
    result.cosignatures.map(({ witness: { name }, time }) => [name, time]),
    [['w', 1_700_000_000]],
  )
})

test('another agent, key, number or type of entry is not the key', async () => {
  const proof = await log.proof(INDEX)
  assert.equal(await verdict(proof), 'logged')
  assert.equal(await verdict(await log.proof(0)), 'other-key')
  for (const other of [{ keySequence: 1 }, { keyThumbprint: 'b'.repeat(43) }]) {
    assert.equal(await verdict(proof, LOGGED, { ...KEY, ...other }), 'other-key')
  }
  const graded = testLog(logKey)
  graded.add(keyEntry(KEY, 'grade'))
  assert.equal(await verdict(await graded.proof(0)), 'other-key')
})

test('a proof that is malformed, or whose entry is not under the checkpoint, is invalid', async () => {
  const proof = await log.proof(INDEX)
  const [, hash = ''] = /index \d+\n(\S+)\n/.exec(proof) ?? []
  const earlier = await log.proof(0, { size: 2 })
  const broken = {
    empty: '',
    garbage: 'c2sp.org/tlog-proof@v1\nindex 0\n\nx',
    'no entry': proof.replace(/extra .*\n/, ''),
    'an entry that is not canonical': proof.replace(/extra .*\n/, `extra ${btoa('{ }')}\n`),
    'another place': proof.replace(`index ${INDEX}`, 'index 4'),
    'a path that is too short': proof.replace(`${hash}\n`, ''),
    'another hash': proof.replace(hash, btoa('x'.repeat(32))),
    'the checkpoint of a smaller tree': `${proof.split('\n\n')[0]}\n\n${earlier.split('\n\n').slice(1).join('\n\n')}`,
  }
  for (const [name, each] of Object.entries(broken)) {
    assert.notEqual(each, proof, name)
    assert.equal(await verdict(each), 'invalid', name)
  }
})

test('the checkpoint of a log that the policy does not name does not count', async () => {
  const forger = testNoteKey(logKey.key.name)
  assert.equal(await verdict(await log.proof(INDEX, { by: forger })), 'other-log')
  const elsewhere = testLog(testNoteKey('id.example/log/2'))
  elsewhere.add(keyEntry(KEY))
  assert.equal(await verdict(await elsewhere.proof(0)), 'other-log')
  const both = `log ${forger.verifierKey}\n${LOGGED}`
  assert.equal(await verdict(await log.proof(INDEX), both), 'logged')
})

test('without the quorum, a checkpoint does not count', async () => {
  const proof = await log.proof(INDEX)
  assert.equal(await verdict(proof, WITNESSED), 'no-quorum')
  const pretender = testNoteKey('w.example', 'cosignature')
  assert.equal(await verdict(cosigned(proof, pretender), WITNESSED), 'no-quorum')
  const all = WITNESSED.replace('any', 'all')
  assert.equal(await verdict(cosigned(proof, witness), all), 'no-quorum')
  assert.equal(await verdict(cosigned(cosigned(proof, witness), absent), all), 'logged')
  // Of another checkpoint.
  const other = cosigned(await log.proof(0, { size: 2 }), witness)
  const line = other.slice(other.lastIndexOf('\u2014'))
  assert.equal(await verdict(`${proof}${line}`, WITNESSED), 'no-quorum')
})
