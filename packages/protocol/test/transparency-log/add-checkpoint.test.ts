import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  encodeBase64,
  formatAddCheckpoint,
  formatTreeSizeAnswer,
  parseAddCheckpoint,
  parseTreeSizeAnswer,
} from '../../src/index.ts'

const note =
  'log.example\n3\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— log.example AAAAAAAA\n'
const hash = (byte: number) => new Uint8Array(32).fill(byte)

/** From C2SP tlog-witness, without its signatures. */
const EXAMPLE = `old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
`

test('the body of add-checkpoint is read and written as in the example of C2SP tlog-witness', () => {
  const request = parseAddCheckpoint(EXAMPLE)
  assert.equal(request?.oldSize, 20_852_014)
  assert.equal(request.proof.length, 4)
  assert.equal(
    encodeBase64(request.proof[3] as Uint8Array),
    '/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=',
  )
  assert.match(request.checkpoint, /^example\.com\/behind-the-sofa\n20852163\n/)
  assert.equal(formatAddCheckpoint(request), EXAMPLE)
})

test('a first checkpoint has an empty proof', () => {
  const body = `old 0\n\n${note}`
  assert.deepEqual(parseAddCheckpoint(body), { oldSize: 0, proof: [], checkpoint: note })
  assert.equal(formatAddCheckpoint({ oldSize: 0, proof: [], checkpoint: note }), body)
})

test('a proof has at most 63 hashes', () => {
  const longest = { oldSize: 1, proof: Array.from({ length: 63 }, (_, i) => hash(i)) }
  const body = formatAddCheckpoint({ ...longest, checkpoint: note })
  assert.deepEqual(parseAddCheckpoint(body)?.proof, longest.proof)
  assert.equal(parseAddCheckpoint(body.replace('\n\n', `\n${encodeBase64(hash(0))}\n\n`)), null)
  const longer = { oldSize: 1, proof: [...longest.proof, hash(0)], checkpoint: note }
  assert.throws(() => formatAddCheckpoint(longer), RangeError)
})

test('a malformed body is not read', () => {
  const proof = encodeBase64(hash(1))
  for (const body of [
    '',
    'old 1',
    'old 1\n',
    note,
    `old\n\n${note}`,
    `old \n\n${note}`,
    `old -1\n\n${note}`,
    `old 01\n\n${note}`,
    `old +1\n\n${note}`,
    `old 1.0\n\n${note}`,
    `old 0x1\n\n${note}`,
    `old 9007199254740992\n\n${note}`,
    `old  1\n\n${note}`,
    `OLD 1\n\n${note}`,
    ` old 1\n\n${note}`,
    `old 1 \n\n${note}`,
    `old 1\r\n\r\n${note}`,
    `\nold 1\n\n${note}`,
    `old 1\n${proof} \n\n${note}`,
    `old 1\n${proof.slice(0, -1)}\n\n${note}`,
    `old 1\n${proof.replace(/.=$/, 'F=')}\n\n${note}`,
    `old 1\n${encodeBase64(new Uint8Array(31))}\n\n${note}`,
    `old 1\n${encodeBase64(new Uint8Array(33))}\n\n${note}`,
  ])
    assert.equal(parseAddCheckpoint(body), null, JSON.stringify(body))
})

test('a malformed body is not written', () => {
  for (const oldSize of [-1, 1.5, Number.NaN, 2 ** 53])
    assert.throws(() => formatAddCheckpoint({ oldSize, proof: [], checkpoint: note }), RangeError)
  const proof = [new Uint8Array(31)]
  assert.throws(() => formatAddCheckpoint({ oldSize: 1, proof, checkpoint: note }), RangeError)
})

test('the size in an answer is a line in decimal', () => {
  assert.equal(parseTreeSizeAnswer(formatTreeSizeAnswer(20_852_163)), 20_852_163)
  assert.equal(parseTreeSizeAnswer('0\n'), 0)
  for (const body of ['', '\n', '1', '1\n\n', ' 1\n', '01\n', '-1\n', '1e3\n', '1\r\n'])
    assert.equal(parseTreeSizeAnswer(body), null, JSON.stringify(body))
})
