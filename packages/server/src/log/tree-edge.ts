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
  /** The hashes of the last tile of each level, fewer than 256. */
  readonly #levels: Uint8Array[][] = []
  readonly #full: StoredTile[] = []

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
      this.#levels[level] = Array.from({ length: width }, (_, i) =>
        stored.subarray(i * TREE_HASH_BYTES, (i + 1) * TREE_HASH_BYTES),
      )
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
    this.#levels[level] ??= []
    const hashes = this.#levels[level]
    hashes.push(hash)
    if (hashes.length < TILE_WIDTH) return
    const position = Math.floor(index / TILE_WIDTH)
    this.#full.push({ level, position, hashes: Buffer.concat(hashes) })
    this.#levels[level] = []
    this.#push(level + 1, merge(hashes), position)
  }

  /** The root of the tree: the roots of the complete subtrees that it consists of, joined from the last and smallest one on. */
  root(): Uint8Array {
    let root: Uint8Array | undefined
    for (const hashes of this.#levels) {
      let end = hashes.length
      for (let width = 1; end > 0; width *= 2) {
        if ((hashes.length & width) === 0) continue
        const subtree = merge(hashes.slice(end - width, end))
        root = root === undefined ? subtree : nodeHash(subtree, root)
        end -= width
      }
    }
    return root ?? emptyTreeRoot()
  }

  /** The tiles to store: those that were filled since the constructor, and the partial ones. */
  tiles(): StoredTile[] {
    const partial = TreeEdge.tilesOf(this.#size).map(({ level, position }) => {
      return { level, position, hashes: Buffer.concat(this.#levels[level] ?? []) }
    })
    return [...this.#full, ...partial]
  }
}

/** The hash of a complete subtree, from those of its parts. */
export function merge(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 1) return hashes[0] as Uint8Array
  const middle = hashes.length / 2
  return nodeHash(merge(hashes.slice(0, middle)), merge(hashes.slice(middle)))
}
