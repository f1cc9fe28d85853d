import { hashNode, type ReadHashes, readHashesFromTiles, TILE_WIDTH } from '../../src/index.ts'

const trees = new WeakMap<readonly Uint8Array[], Map<string, Uint8Array>>()

/** All tiles of a tree, by `<level>/<index>`, with all hashes that they have. */
export function treeOf(leaves: readonly Uint8Array[]): Map<string, Uint8Array> {
  const tiles = trees.get(leaves) ?? new Map<string, Uint8Array>()
  if (tiles.size > 0) return tiles
  trees.set(leaves, tiles)
  let hashes = leaves
  for (let level = 0; hashes.length > 0; level++) {
    const next: Uint8Array[] = []
    for (let index = 0; index * TILE_WIDTH < hashes.length; index++) {
      const inTile = hashes.slice(index * TILE_WIDTH, (index + 1) * TILE_WIDTH)
      tiles.set(`${level}/${index}`, Buffer.concat(inTile))
      if (inTile.length === TILE_WIDTH) next.push(rootOf(inTile))
    }
    hashes = next
  }
  return tiles
}

/** Reads from the tiles of the first `size` entries. */
export function readHashesOf(leaves: readonly Uint8Array[], size: number): ReadHashes {
  const tiles = treeOf(leaves)
  return readHashesFromTiles(size, async ({ level, index, width }) => {
    const tile = tiles.get(`${level}/${index}`)
    if (tile === undefined) throw new Error(`no tile ${level}/${index}`)
    return Uint8Array.from(tile.subarray(0, width * 32))
  })
}

function rootOf(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 1) return hashes[0] as Uint8Array
  const half = hashes.length / 2
  return hashNode(rootOf(hashes.slice(0, half)), rootOf(hashes.slice(half)))
}
