import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  equalHashes,
  formatEntryBundle,
  formatTilePath,
  hashLeaf,
  hashNode,
  parseCheckpoint,
  parseEntryBundle,
  parseNote,
  readHashesFromTiles,
  TILE_WIDTH,
  type Tile,
  TREE_HASH_BYTES,
  treeRoot,
} from '@countersign/protocol'
import { Failure } from '@countersign/sdk/tool-support'
import { type LogState, writeDurably } from './log-state.ts'
import type { EntryStore } from './verify-log.ts'

/** Everybody may read a mirror, such as a web server. */
const PUBLIC = 0o644
const CHECKPOINT = 'checkpoint'
const STATE = '.state/mirror.json'

/**
 * A copy of a log as files under the paths of C2SP tlog-tiles. The tiles are computed from the verified entries, not copied. Whatever the
 * checkpoint names is durable before the checkpoint is replaced.
 */
export class MirrorFolder implements EntryStore {
  readonly #path: string
  /** Folders of partial tiles that are full by now. The checkpoint from before still names some. */
  readonly #filled: string[] = []

  /** Creates the folder if there is none. */
  constructor(path: string) {
    this.#path = path
    mkdirSync(path, { recursive: true })
  }

  /** Where the state of the verification is, and evidence beside it. */
  get statePath(): string {
    return join(this.#path, STATE)
  }

  /**
   * Whether the folder has what was verified.
   * @param state null: nothing was verified
   * @throws Failure STATE_DAMAGED
   */
  async assertIntact(state: LogState | null): Promise<void> {
    const size = this.#checkpointSize()
    const isBehind = state === null ? size !== null : (size ?? 0) > state.frontier.size
    if (isBehind || (state !== null && !(await this.#hasTree(state)))) {
      throw this.#damaged('does not have the files that its state names')
    }
  }

  async store(entries: readonly Uint8Array[], start: number): Promise<void> {
    const end = start + entries.length
    await this.#storeBundles(entries, start)
    let added = entries.map(hashLeaf)
    for (let level = 0, first = start; added.length > 0; level++) {
      const tiles = await this.#storeHashes(level, first, added)
      first = Math.floor(first / TILE_WIDTH)
      const size = Math.floor(end / TILE_WIDTH ** (level + 1))
      added = tiles.slice(0, size - first).map(rootOfTile)
    }
  }

  /** Replaces the checkpoint, and deletes the partial tiles that it no longer needs. @param signed the signed note */
  async publish(signed: string): Promise<void> {
    await writeDurably(join(this.#path, CHECKPOINT), signed, { mode: PUBLIC })
    for (const path of this.#filled.splice(0)) rmSync(path, { recursive: true, force: true })
  }

  async #storeBundles(entries: readonly Uint8Array[], start: number): Promise<void> {
    const before = start % TILE_WIDTH
    const kept = before === 0 ? [] : this.#entries(Math.floor(start / TILE_WIDTH), before)
    const all = [...kept, ...entries]
    for (let at = 0; at < all.length; at += TILE_WIDTH) {
      const bundle = all.slice(at, at + TILE_WIDTH)
      const index = Math.floor(start / TILE_WIDTH) + at / TILE_WIDTH
      const tile = { level: 'entries', index, width: bundle.length } as const
      await this.#write(tile, formatEntryBundle(bundle))
    }
  }

  /** @param first the number of the first hash in its level @returns the tiles, the first of which may have been begun before */
  async #storeHashes(
    level: number,
    first: number,
    added: readonly Uint8Array[],
  ): Promise<Uint8Array[]> {
    const before = first % TILE_WIDTH
    const index = Math.floor(first / TILE_WIDTH)
    const kept =
      before === 0 ? new Uint8Array() : this.#read({ level, index, width: before }, before)
    const all = Buffer.concat([kept, ...added])
    const tiles: Uint8Array[] = []
    const bytes = TILE_WIDTH * TREE_HASH_BYTES
    for (let at = 0; at < all.length; at += bytes) {
      const hashes = Uint8Array.from(all.subarray(at, at + bytes))
      const width = hashes.length / TREE_HASH_BYTES
      await this.#write({ level, index: index + at / bytes, width }, hashes)
      tiles.push(hashes)
    }
    return tiles
  }

  #entries(index: number, width: number): Uint8Array[] {
    const tile = { level: 'entries', index, width } as const
    const entries = parseEntryBundle(this.#readFile(tile))
    if (entries?.length === width) return entries
    throw this.#damaged(`has a damaged ${formatTilePath(tile)}`)
  }

  #read(tile: Tile, width: number): Uint8Array {
    const hashes = this.#readFile(tile)
    if (hashes.length === width * TREE_HASH_BYTES) return hashes
    throw this.#damaged(`has a damaged ${formatTilePath(tile)}`)
  }

  #readFile(tile: Tile): Uint8Array {
    try {
      return Uint8Array.from(readFileSync(join(this.#path, formatTilePath(tile))))
    } catch {
      throw this.#damaged(`has no ${formatTilePath(tile)}`)
    }
  }

  async #write(tile: Tile, content: Uint8Array): Promise<void> {
    const path = join(this.#path, formatTilePath(tile))
    mkdirSync(dirname(path), { recursive: true })
    await writeDurably(path, content, { mode: PUBLIC })
    if (tile.width === TILE_WIDTH && existsSync(`${path}.p`)) this.#filled.push(`${path}.p`)
  }

  #checkpointSize(): number | null {
    const path = join(this.#path, CHECKPOINT)
    if (!existsSync(path)) return null
    const note = parseNote(readFileSync(path, 'utf8'))
    const checkpoint = note && parseCheckpoint(note.text)
    if (checkpoint === null) throw this.#damaged('has a damaged checkpoint')
    return checkpoint.size
  }

  /** Whether the last tiles are those of what was verified, from which further ones are computed. */
  async #hasTree({ frontier }: LogState): Promise<boolean> {
    const { size } = frontier
    const read = readHashesFromTiles(size, async (tile) => this.#read(tile, tile.width))
    return equalHashes(await treeRoot(size, read), frontier.root())
  }

  #damaged(what: string): Failure {
    const message = `${this.#path} ${what}. Mirror the log into an empty folder, with --log-key, and compare the two checkpoints.`
    return new Failure('STATE_DAMAGED', message)
  }
}

function rootOfTile(hashes: Uint8Array): Uint8Array {
  if (hashes.length === TREE_HASH_BYTES) return hashes
  const middle = hashes.length / 2
  return hashNode(rootOfTile(hashes.subarray(0, middle)), rootOfTile(hashes.subarray(middle)))
}
