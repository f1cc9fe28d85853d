import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  canonicalJson,
  commitmentTo,
  emptyTreeRoot,
  hashLeaf,
  hashNode,
  LOG_ENTRY_MAX_BYTES,
  namingFor,
  readHashesFromTiles,
  treeRoot,
  utf8,
} from '@countersign/protocol'
import { type StoredTile, TreeEdge } from '../../src/log/tree-edge.ts'
import { commitmentOf, leafHash, nodeHash } from '../../src/log/tree-hash.ts'

test('the hashes are those of protocol, for entries of every length, one after another', () => {
  for (let length = LOG_ENTRY_MAX_BYTES; length >= 0; length -= 31) {
    const entry = randomBytes(length)
    assert.deepEqual(Uint8Array.from(leafHash(entry)), hashLeaf(entry))
    const [left, right] = [randomBytes(32), randomBytes(32)]
    const first = nodeHash(left, right)
    const second = nodeHash(right, left)
    assert.deepEqual(Uint8Array.from(first), hashNode(left, right))
    assert.deepEqual(Uint8Array.from(second), hashNode(right, left))
    const evidence = { text: `é "${'x'.repeat(length)}"`, length }
    const salt = randomBytes(32)
    assert.equal(
      commitmentOf(namingFor(), salt, canonicalJson(evidence)),
      commitmentTo(namingFor(), salt, evidence),
    )
  }
  assert.throws(() => leafHash(new Uint8Array(LOG_ENTRY_MAX_BYTES + 1)), RangeError)
})

test('the root is that of the tiles, at every size and from a stored edge on', async () => {
  const stored = new Map<string, StoredTile>()
  const keep = (edge: TreeEdge) => {
    for (const tile of edge.takeTiles()) stored.set(`${tile.level}/${tile.position}`, tile)
  }
  const rootOfTiles = (size: number) =>
    treeRoot(
      size,
      readHashesFromTiles(size, async ({ level, index, width }) =>
        Uint8Array.from(stored.get(`${level}/${index}`)?.hashes.subarray(0, width * 32) ?? []),
      ),
    )
  assert.deepEqual(new TreeEdge(0, []).root(), emptyTreeRoot())
  // Around a full tile each size, further on some, across the first tile of level 1 that is full.
  const sizes = Array.from({ length: 520 }, (_, i) => i + 1)
  for (let size = 700; size < 65_300; size += 7_177) sizes.push(size)
  sizes.push(65_535, 65_536, 65_537, 65_793, 66_001)
  let size = 0
  for (const next of sizes) {
    const edge = new TreeEdge(size, [...stored.values()])
    for (; size < next; size++) edge.append(leafHash(utf8(`entry ${size}`)))
    keep(edge)
    assert.deepEqual(Uint8Array.from(edge.root()), await rootOfTiles(size), `size ${size}`)
    assert.deepEqual(
      Uint8Array.from(new TreeEdge(size, [...stored.values()]).root()),
      Uint8Array.from(edge.root()),
    )
  }
})
