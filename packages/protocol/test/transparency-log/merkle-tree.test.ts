import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  decodeKey,
  emptyTreeRoot,
  equalHashes,
  hashLeaf,
  hashNode,
  proveConsistency,
  proveInclusion,
  treeRoot,
  utf8,
  verifyConsistency,
  verifyInclusion,
} from '../../src/index.ts'
import { bytesOf, type Case, forEachCase, hexOf, readVectors } from '../support/vectors.ts'
import { readHashesOf, treeOf } from './support.ts'

const vectors = readVectors<{
  roots: (Case & { size: number; root: string })[]
  inclusion: (Case & {
    index: number
    size: number
    leaf: string
    root: string
    proof: string[]
  })[]
  consistency: (Case & {
    oldSize: number
    oldRoot: string
    size: number
    root: string
    proof: string[]
  })[]
}>('transparency-log.json')

const bytes = (text: string) => decodeKey(text) as Uint8Array
const leaves = Array.from({ length: 600 }, (_, i) => hashLeaf(utf8(`entry ${i}`)))

test('the roots are those of the reference implementation of RFC 6962', async () => {
  const inputs = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ]
  const roots = [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ]
  const hashes = inputs.map((input) => hashLeaf(bytesOf(input)))
  for (const [size, root] of roots.entries()) {
    assert.equal(hexOf(await treeRoot(size, readHashesOf(hashes, size))), root)
  }
})

test('roots and proofs are those of Go', async () => {
  for (const { size, root } of vectors.roots) {
    assert.deepEqual(await treeRoot(size, readHashesOf(leaves, size)), bytes(root))
  }
  for (const { index, size, proof } of vectors.inclusion) {
    const made = await proveInclusion(index, size, readHashesOf(leaves, size))
    assert.deepEqual(made, proof.map(bytes), `${index} of ${size}`)
  }
  for (const { oldSize, size, proof } of vectors.consistency) {
    const made = await proveConsistency(oldSize, size, readHashesOf(leaves, size))
    assert.deepEqual(made, proof.map(bytes), `${oldSize} of ${size}`)
  }
})

test('a proof verifies, and no changed one does', () => {
  forEachCase(vectors.inclusion, ({ index, size, leaf, root, proof }) => {
    const claim = { index, size, leaf: bytes(leaf), root: bytes(root) }
    const path = proof.map(bytes)
    assert.ok(verifyInclusion(claim, path))
    assert.ok(!verifyInclusion({ ...claim, leaf: hashLeaf(utf8('another')) }, path))
    assert.ok(!verifyInclusion({ ...claim, index: size }, path))
    assert.ok(!verifyInclusion({ ...claim, index: -1 }, path))
    assert.ok(!verifyInclusion(claim, [...path, emptyTreeRoot()]))
    if (size > 1) assert.ok(!verifyInclusion({ ...claim, index: (index + 1) % size }, path))
    for (const at of path.keys()) assert.ok(!verifyInclusion(claim, changed(path, at)))
    for (const at of path.keys()) assert.ok(!verifyInclusion(claim, path.toSpliced(at, 1)))
  })
  forEachCase(vectors.consistency, ({ oldSize, oldRoot, size, root, proof }) => {
    const [old, current] = [
      { size: oldSize, root: bytes(oldRoot) },
      { size, root: bytes(root) },
    ]
    const path = proof.map(bytes)
    assert.ok(verifyConsistency(old, current, path))
    assert.ok(!verifyConsistency({ ...old, root: emptyTreeRoot() }, current, path))
    assert.ok(!verifyConsistency(old, { ...current, root: emptyTreeRoot() }, path))
    assert.ok(!verifyConsistency({ ...old, size: size + 1 }, current, path))
    assert.ok(!verifyConsistency(old, current, [...path, emptyTreeRoot()]))
    for (const at of path.keys()) assert.ok(!verifyConsistency(old, current, changed(path, at)))
    for (const at of path.keys()) assert.ok(!verifyConsistency(old, current, path.toSpliced(at, 1)))
  })
})

test('all pairs of sizes up to 40 have proofs that verify, and a rewritten entry has none', async () => {
  const rewritten = leaves.with(3, hashLeaf(utf8('rewritten')))
  for (let size = 1; size <= 40; size++) {
    const read = readHashesOf(leaves, size)
    const root = await treeRoot(size, read)
    for (let old = 0; old <= size; old++) {
      const proof = await proveConsistency(old, size, read)
      const oldRoot = await treeRoot(old, readHashesOf(leaves, old))
      assert.ok(verifyConsistency({ size: old, root: oldRoot }, { size, root }, proof))
      const forged = { size: old, root: await treeRoot(old, readHashesOf(rewritten, old)) }
      assert.equal(verifyConsistency(forged, { size, root }, proof), old <= 3)
    }
    for (let index = 0; index < size; index++) {
      const proof = await proveInclusion(index, size, read)
      const leaf = leaves[index] as Uint8Array
      assert.ok(verifyInclusion({ index, size, leaf, root }, proof))
    }
  }
})

test('random proofs of random trees do not verify', () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(
      fc.nat(100),
      fc.nat(100),
      fc.array(hash, { maxLength: 8 }),
      hash,
      (a, b, proof, root) => {
        const leaf = leaves[0] as Uint8Array
        assert.ok(!verifyInclusion({ index: a, size: b, leaf, root }, proof))
        if (a !== 0)
          assert.ok(!verifyConsistency({ size: a, root: leaf }, { size: b, root }, proof))
      },
    ),
  )
})

test('a tree of 65,793 entries, with tiles of three levels', async () => {
  const size = 256 * 257 + 1
  const many = Array.from({ length: size }, (_, i) => leaves[i % 600] as Uint8Array)
  const read = readHashesOf(many, size)
  const root = await treeRoot(size, read)
  assert.deepEqual(root, naiveRoot(many))
  for (const index of [0, 65_535, 65_536, 65_792]) {
    const leaf = many[index] as Uint8Array
    assert.ok(verifyInclusion({ index, size, leaf, root }, await proveInclusion(index, size, read)))
  }
  const old = { size: 65_537, root: await treeRoot(65_537, readHashesOf(many, 65_537)) }
  assert.ok(verifyConsistency(old, { size, root }, await proveConsistency(old.size, size, read)))
  assert.equal(treeOf(many).get('2/0')?.length, 32)
})

test('a tree has no proofs for what it has not', () => {
  const read = readHashesOf(leaves, 5)
  for (const index of [5, -1, Number.NaN]) {
    assert.throws(() => proveInclusion(index, 5, read), RangeError)
  }
  assert.throws(() => proveConsistency(6, 5, read), RangeError)
  assert.ok(!equalHashes(new Uint8Array(31), new Uint8Array(32)))
})

/** The definition of RFC 6962 section 2.1, without tiles. */
function naiveRoot(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 1) return hashes[0] as Uint8Array
  let power = 1
  while (power * 2 < hashes.length) power *= 2
  return hashNode(naiveRoot(hashes.slice(0, power)), naiveRoot(hashes.slice(power)))
}

function changed(path: readonly Uint8Array[], at: number): Uint8Array[] {
  return path.map((hash, i) => (i === at ? emptyTreeRoot() : hash))
}
