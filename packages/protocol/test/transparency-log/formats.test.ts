import assert from 'node:assert/strict'
import { test } from 'node:test'
import sodium from 'sodium-native'
import {
  cosignatureMessage,
  decodeBase64,
  decodeKey,
  formatCheckpoint,
  formatCosignature,
  formatEntryBundle,
  formatLogProof,
  formatNote,
  formatSignature,
  formatTilePath,
  formatVerifierKey,
  hashLeaf,
  isNoteName,
  type NoteKey,
  noteKeyId,
  openCheckpoint,
  parseCheckpoint,
  parseEntryBundle,
  parseLogProof,
  parseNote,
  parseSignatures,
  parseTilePath,
  parseVerifierKey,
  proveInclusion,
  tileWidth,
  utf8,
  verifyCosignature,
  verifyLogProof,
} from '../../src/index.ts'
import { bytesOf, type Case, forEachCase, readVectors } from '../support/vectors.ts'
import { readHashesOf } from './support.ts'

const vectors = readVectors<{
  tiles: (Case & { path: string; level: number | 'entries'; index: number; width: number })[]
  invalidTiles: (Case & { path: string })[]
  checkpoint: {
    origin: string
    size: number
    root: string
    seedHex: string
    verifierKey: string
    note: string
  }
  invalidNotes: (Case & { note: string })[]
  cosignature: { verifierKey: string; seedHex: string; time: number; note: string }
}>('transparency-log.json')
const { checkpoint, cosignature } = vectors
const logKey = parseVerifierKey(checkpoint.verifierKey) as NoteKey
const witnessKey = parseVerifierKey(cosignature.verifierKey) as NoteKey

function verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const [m, key] = [Buffer.from(message), Buffer.from(publicKey)]
  return sodium.crypto_sign_verify_detached(Buffer.from(signature), m, key)
}

function sign(seedHex: string, message: Uint8Array): Uint8Array {
  const [publicKey, secretKey] = [Buffer.alloc(32), Buffer.alloc(64)]
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, bytesOf(seedHex))
  const signature = Buffer.alloc(64)
  sodium.crypto_sign_detached(signature, Buffer.from(message), secretKey)
  return signature
}

test('the path of a tile is that of Go, and no other text is one', () => {
  forEachCase(vectors.tiles, ({ path, level, index, width }) => {
    assert.equal(formatTilePath({ level, index, width }), path)
    assert.deepEqual(parseTilePath(path), { level, index, width })
  })
  forEachCase(vectors.invalidTiles, ({ path }) => assert.equal(parseTilePath(path), null))
})

test('a tree of 70,000 has the tiles of the example in C2SP tlog-tiles', () => {
  assert.deepEqual(
    [tileWidth(0, 272, 70_000), tileWidth(0, 273, 70_000), tileWidth(0, 274, 70_000)],
    [256, 112, 0],
  )
  assert.deepEqual([tileWidth(1, 0, 70_000), tileWidth(1, 1, 70_000)], [256, 17])
  assert.deepEqual([tileWidth(2, 0, 70_000), tileWidth(3, 0, 70_000)], [1, 0])
  assert.equal(tileWidth('entries', 273, 70_000), 112)
})

test('a checkpoint of Go is read, and ours is the same text', async () => {
  const { origin, size, seedHex } = checkpoint
  const root = decodeKey(checkpoint.root) as Uint8Array
  const text = formatCheckpoint({ origin, size, root })
  const signature = sign(seedHex, utf8(text))
  const line = { name: origin, keyId: noteKeyId(logKey), signature }
  assert.equal(formatNote({ text, signatures: [line] }), checkpoint.note)
  assert.equal(formatVerifierKey(logKey), checkpoint.verifierKey)
  const opened = await openCheckpoint(checkpoint.note, logKey, verify)
  assert.deepEqual(opened?.checkpoint, { origin, size, root })
})

test('no other note is accepted from the log', async () => {
  for (const { name, note } of vectors.invalidNotes) {
    assert.equal(await openCheckpoint(note, logKey, verify), null, name)
  }
  const malformed = [
    '',
    checkpoint.note.slice(0, -1),
    checkpoint.note.replace('\u2014', '-'),
    checkpoint.note.replace('\n\n', '\n'),
    checkpoint.note.replace('600', '0600'),
    `\u0000${checkpoint.note}`,
    checkpoint.note.replace('=\n\n', '=\r\n\n'),
    `${checkpoint.note}${'\u2014 stranger.example AAAAAAA=\n'.repeat(64)}`,
  ]
  for (const note of malformed) assert.equal(await openCheckpoint(note, logKey, verify), null, note)
  const crowded = `${checkpoint.note}${'\u2014 stranger.example AAAAAAA=\n'.repeat(15)}`
  assert.equal((await openCheckpoint(crowded, logKey, verify))?.note.signatures.length, 16)
})

test('the text of a checkpoint has one form; extension lines are allowed', () => {
  const root = checkpoint.root
  assert.equal(parseCheckpoint(`a\n1\n${root}\nextension\n`)?.size, 1)
  for (const text of [
    `a\n1\n${root}`,
    `a\n1\n${root}\n\n`,
    `\n1\n${root}\n`,
    `a\n01\n${root}\n`,
    `a\n+1\n${root}\n`,
    `a\n9007199254740993\n${root}\n`,
    `a\n1\n${root.slice(0, -2)}\n`,
    'a\n1\n',
  ]) {
    assert.equal(parseCheckpoint(text), null, text)
  }
})

test('a cosignature of Go is read, and ours is the same line', async () => {
  const note = parseNote(cosignature.note)
  assert.ok(note)
  assert.equal(await verifyCosignature(note, witnessKey, verify), cosignature.time)
  assert.ok(await openCheckpoint(cosignature.note, logKey, verify))
  const signed = sign(cosignature.seedHex, cosignatureMessage(note.text, cosignature.time))
  const line = formatSignature({
    name: witnessKey.name,
    keyId: noteKeyId(witnessKey),
    signature: formatCosignature(cosignature.time, signed),
  })
  assert.ok(cosignature.note.endsWith(`\n${line}`))
  assert.deepEqual(parseSignatures(line)?.[0]?.name, witnessKey.name)
  assert.equal(
    await verifyCosignature({ ...note, text: `${note.text}x\n` }, witnessKey, verify),
    null,
  )
  assert.equal(await verifyCosignature({ ...note, signatures: [] }, witnessKey, verify), null)
  const asLog: NoteKey = { ...witnessKey, type: 'ed25519' }
  assert.equal(await verifyCosignature(note, asLog, verify), null)
})

test('a cosignature with another time does not verify', async () => {
  const note = parseNote(cosignature.note)
  assert.ok(note)
  const signatures = note.signatures.map((each) => {
    if (each.name !== witnessKey.name) return each
    const moved = formatCosignature(cosignature.time + 1, each.signature.slice(8))
    return { ...each, signature: moved }
  })
  assert.equal(await verifyCosignature({ ...note, signatures }, witnessKey, verify), null)
})

test('verifier keys are refused if they are malformed', () => {
  const [name = '', id = '', key = ''] = checkpoint.verifierKey.split('+')
  for (const text of [
    '',
    name,
    `${name}+${id}`,
    `${name}+00000000+${key}`,
    `${name}x+${id}+${key}`,
    `${name}+${id}+${key.slice(4)}`,
    `a b+${id}+${key}`,
    `${name}+${id}+B${key.slice(1)}`,
  ]) {
    assert.equal(parseVerifierKey(text), null, text)
  }
  assert.ok(!isNoteName('a b') && !isNoteName('a+b') && !isNoteName('') && !isNoteName('a\u00a0b'))
  assert.throws(() => formatVerifierKey({ ...logKey, name: 'a b' }), RangeError)
  assert.throws(() => formatSignature({ name: 'a\nb', keyId: 1, signature: new Uint8Array(64) }))
})

test('a proof goes through text and verifies; another entry does not', async () => {
  const leaves = Array.from({ length: 600 }, (_, i) => hashLeaf(utf8(`entry ${i}`)))
  const path = await proveInclusion(411, 600, readHashesOf(leaves, 600))
  const text = formatLogProof({ extra: null, index: 411, path, checkpoint: cosignature.note })
  const proof = parseLogProof(text)
  assert.ok(proof)
  const opened = await verifyLogProof(proof, leaves[411] as Uint8Array, logKey, verify)
  assert.equal(opened?.checkpoint.size, 600)
  assert.ok(opened && (await verifyCosignature(opened.note, witnessKey, verify)))
  assert.equal(await verifyLogProof(proof, leaves[410] as Uint8Array, logKey, verify), null)
  const moved = { ...proof, index: 410 }
  assert.equal(await verifyLogProof(moved, leaves[411] as Uint8Array, logKey, verify), null)
  const extra = utf8('extra')
  assert.deepEqual(parseLogProof(formatLogProof({ ...proof, extra }))?.extra, extra)
  for (const malformed of [
    '',
    text.replace('@v1', '@v2'),
    text.replace('index 411', 'index 0411'),
    text.replace('index 411\n', ''),
    text.replace('index 411', 'extra ?\nindex 411'),
    text.replace('\n\n', '\nAAAA\n\n'),
  ]) {
    assert.equal(parseLogProof(malformed), null)
  }
})

test('a bundle gives back its entries; a cut one is refused', () => {
  const entries = [utf8('one'), utf8(''), utf8('x'.repeat(1000))]
  const bundle = formatEntryBundle(entries)
  assert.deepEqual(parseEntryBundle(bundle), entries)
  assert.equal(parseEntryBundle(bundle.subarray(0, -1)), null)
  assert.equal(parseEntryBundle(Uint8Array.of(0)), null)
  assert.deepEqual(parseEntryBundle(new Uint8Array()), [])
  assert.throws(() => formatEntryBundle([new Uint8Array(65_536)]), RangeError)
})

test('base64 has one spelling', () => {
  assert.deepEqual(decodeBase64('AAE='), Uint8Array.of(0, 1))
  for (const text of ['AAF=', 'AAE', 'AA E', 'AAE=\n', 'A===', '=AAA', 'AA-_']) {
    assert.equal(decodeBase64(text), null, text)
  }
})
