import { hashNode, type ReadHashes, type Subtree, TREE_HASH_BYTES } from './merkle-tree.ts'

/** How many hashes or entries a full tile has (C2SP tlog-tiles). */
export const TILE_WIDTH = 256
/** The height of a tile: a hash at level L of tiles covers 256^L entries. */
const TILE_HEIGHT = 8

/**
 * A tile (C2SP tlog-tiles): `width` consecutive hashes of level 8 × `level` of the tree, or the entries below those of level 0.
 * A full one has 256, a partial one fewer.
 */
export interface Tile {
  /** From 0, or `entries`. */
  readonly level: number | 'entries'
  readonly index: number
  /** 1 to 256. */
  readonly width: number
}

/** The path of a tile below the prefix of the log, such as `tile/0/x001/x234/067` or `tile/entries/005.p/17`. */
export function formatTilePath({ level, index, width }: Tile): string {
  const groups: string[] = []
  let rest = index
  do {
    groups.unshift(String(rest % 1000).padStart(3, '0'))
    rest = Math.floor(rest / 1000)
  } while (rest > 0)
  const last = groups.length - 1
  const number = groups.map((group, i) => (i < last ? `x${group}` : group)).join('/')
  return `tile/${level}/${number}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

const TILE_PATH =
  /^tile\/(entries|0|[1-9]|[1-5][0-9]|6[0-3])\/((?:x[0-9]{3}\/){0,4}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/

/** Parses the path of a tile. @returns null if it has another form; each tile has exactly one path */
export function parseTilePath(path: string): Tile | null {
  const [, level, number, width] = TILE_PATH.exec(path) ?? []
  if (level === undefined || number === undefined) return null
  const tile = {
    level: level === 'entries' ? level : Number(level),
    index: Number(number.replaceAll(/[x/]/g, '')),
    width: width === undefined ? TILE_WIDTH : Number(width),
  } as const
  return formatTilePath(tile) === `${path}` ? tile : null
}

/**
 * How many hashes or entries the tile at a place has in a tree of a size.
 * @returns 1 to 256; 0 if there is no such tile
 */
export function tileWidth(level: number | 'entries', index: number, size: number): number {
  const hashes = Math.floor(size / TILE_WIDTH ** (level === 'entries' ? 0 : level))
  return Math.max(0, Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH))
}

/**
 * Reads hashes of subtrees from tiles, each tile once a call, in the width that it has in a tree of this size.
 * @param fetchTile the concatenated hashes of a tile
 * @throws RangeError if the tree has no such subtree, or a tile has another length
 */
export function readHashesFromTiles(
  size: number,
  fetchTile: (tile: Tile) => Promise<Uint8Array>,
): ReadHashes {
  return async (subtrees) => {
    const fetched = new Map<string, Promise<Uint8Array>>()
    const fetchOnce = (tile: Tile) => {
      const path = formatTilePath(tile)
      const bytes = fetched.get(path) ?? fetchTile(tile)
      fetched.set(path, bytes)
      return bytes
    }
    return Promise.all(
      subtrees.map(async (subtree) => {
        const { level, index } = tileOf(subtree)
        const width = tileWidth(level, index, size)
        if (width === 0) throw new RangeError('the tree has no such subtree')
        const bytes = await fetchOnce({ level, index, width })
        if (bytes.length !== width * TREE_HASH_BYTES)
          throw new RangeError('a tile has another length')
        return hashInTile(bytes, subtree)
      }),
    )
  }
}

/** The tile from which the hash of a subtree is computed. */
export function tileOf({ level, index }: Subtree): {
  readonly level: number
  readonly index: number
} {
  const tileLevel = Math.floor(level / TILE_HEIGHT)
  const first = index * 2 ** (level - tileLevel * TILE_HEIGHT)
  return { level: tileLevel, index: Math.floor(first / TILE_WIDTH) }
}

/** The hash of a subtree. @param bytes of the tile that `tileOf` names @throws RangeError if the tile is too short */
export function hashInTile(bytes: Uint8Array, { level, index }: Subtree): Uint8Array {
  const count = 2 ** (level % TILE_HEIGHT)
  const first = (index * count) % TILE_WIDTH
  const end = (first + count) * TREE_HASH_BYTES
  if (bytes.length < end) throw new RangeError('the tile has fewer hashes')
  return merge(bytes.subarray(first * TREE_HASH_BYTES, end))
}

function merge(hashes: Uint8Array): Uint8Array {
  if (hashes.length === TREE_HASH_BYTES) return hashes
  const middle = hashes.length / 2
  return hashNode(merge(hashes.subarray(0, middle)), merge(hashes.subarray(middle)))
}

/**
 * Entries as a bundle: each with its length before it, two bytes, big-endian (C2SP tlog-tiles).
 * @throws RangeError if an entry has over 65,535 bytes
 */
export function formatEntryBundle(entries: readonly Uint8Array[]): Uint8Array {
  const bundle = new Uint8Array(entries.reduce((sum, { length }) => sum + 2 + length, 0))
  const view = new DataView(bundle.buffer)
  let at = 0
  for (const entry of entries) {
    if (entry.length > 0xffff) throw new RangeError('an entry is too long for a bundle')
    view.setUint16(at, entry.length)
    bundle.set(entry, at + 2)
    at += 2 + entry.length
  }
  return bundle
}

/** The entries of a bundle, as views on its bytes. @returns null if it is malformed */
export function parseEntryBundle(bundle: Uint8Array): Uint8Array[] | null {
  const view = new DataView(bundle.buffer, bundle.byteOffset, bundle.byteLength)
  const entries: Uint8Array[] = []
  for (let at = 0; at < bundle.length; ) {
    if (at + 2 > bundle.length) return null
    const end = at + 2 + view.getUint16(at)
    if (end > bundle.length) return null
    entries.push(bundle.subarray(at + 2, end))
    at = end
  }
  return entries
}
