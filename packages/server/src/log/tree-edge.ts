import { emptyTreeRoot, TILE_WIDTH, TREE_HASH_BYTES } from '@countersign/protocol'
import { nodeHash } from './tree-hash.ts'

/** A tile as it is stored: the hashes of a level from `position * 256` on. */
export interface StoredTile {
  readonly level: number
  readonly position: number
  readonly hashes: Uint8Array
}

/** The last tile of each level: all that is needed to append entries to a tree and to compute its root. */
export class TreeEdge {
  #size: number
  readonly #levels: Level[] = []
  #full: StoredTile[] = []

  /** @param tiles the partial tiles of a tree of this size; others are ignored @throws RangeError if one is missing or too short */
  constructor(size: number, tiles: readonly StoredTile[]) {
    this.#size = size
    for (let level = 0, count = size; count > 0; level++, count = Math.floor(count / TILE_WIDTH)) {
      const width = count % TILE_WIDTH
      const position = Math.floor(count / TILE_WIDTH)
      const tile = tiles.find((each) => each.level === level && each.position === position)
      const stored = tile?.hashes ?? new Uint8Array()
      if (stored.length < width * TREE_HASH_BYTES)
        throw new RangeError('a tile of the log is missing')
      const last: Level = { hashes: [], subtrees: [] }
      for (let at = 0; at < width * TREE_HASH_BYTES; at += TREE_HASH_BYTES) {
        append(last, stored.subarray(at, at + TREE_HASH_BYTES))
      }
      this.#levels[level] = last
    }
  }

  /** The partial tiles that the constructor needs. */
  static tilesOf(size: number): { readonly level: number; readonly position: number }[] {
    const tiles = []
    for (let level = 0, count = size; count > 0; level++, count = Math.floor(count / TILE_WIDTH)) {
      const position = Math.floor(count / TILE_WIDTH)
      if (count % TILE_WIDTH > 0) tiles.push({ level, position })
    }
    return tiles
  }

  get size(): number {
    return this.#size
  }

  append(leaf: Uint8Array): void {
    this.#push(0, leaf, this.#size)
    this.#size += 1
  }

  /** @param index of the hash within its level */
  #push(level: number, hash: Uint8Array, index: number): void {
    this.#levels[level] ??= { hashes: [], subtrees: [] }
    const last = this.#levels[level]
    append(last, hash)
    if (last.hashes.length < TILE_WIDTH) return
    const position = Math.floor(index / TILE_WIDTH)
    this.#full.push({ level, position, hashes: Buffer.concat(last.hashes) })
    this.#levels[level] = { hashes: [], subtrees: [] }
    this.#push(level + 1, last.subtrees[0] as Uint8Array, position)
  }

  /** The root of the tree: the roots of the complete subtrees that it consists of, joined from the last and smallest one on. */
  root(): Uint8Array {
    const subtrees = this.#levels.flatMap((level) => level.subtrees.toReversed())
    const [last, ...before] = subtrees
    if (last === undefined) return emptyTreeRoot()
    return before.reduce((root, subtree) => nodeHash(subtree, root), last)
  }

  /** The tiles to store: those that were filled since the last call or the constructor, and the partial ones. */
  takeTiles(): StoredTile[] {
    const full = this.#full
    this.#full = []
    const partial = TreeEdge.tilesOf(this.#size).map(({ level, position }) => {
      return { level, position, hashes: Buffer.concat(this.#levels[level]?.hashes ?? []) }
    })
    return [...full, ...partial]
  }
}

/** The last tile of a level. */
interface Level {
  /** Fewer than 256. */
  readonly hashes: Uint8Array[]
  /** The roots of the complete subtrees over them, the largest first, so that no hash is computed twice. */
  readonly subtrees: Uint8Array[]
}

/** Adds a hash, and joins subtrees that have become equally large. */
function append({ hashes, subtrees }: Level, hash: Uint8Array): void {
  hashes.push(hash)
  let subtree = hash
  for (let count = hashes.length; count % 2 === 0; count /= 2) {
    subtree = nodeHash(subtrees.pop() as Uint8Array, subtree)
  }
  subtrees.push(subtree)
}

/** The hash of a complete subtree, from those of its parts. */
export function merge(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 1) return hashes[0] as Uint8Array
  const middle = hashes.length / 2
  return nodeHash(merge(hashes.slice(0, middle)), merge(hashes.slice(middle)))
}
