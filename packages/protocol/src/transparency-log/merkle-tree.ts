import { sha256 } from '@noble/hashes/sha2.js'

/** How many bytes a hash of the tree has: SHA-256. */
export const TREE_HASH_BYTES = 32

/** A complete subtree: the entries from `index * 2^level` to below `(index + 1) * 2^level`. Level 0 is one entry. */
export interface Subtree {
  readonly level: number
  readonly index: number
}

/**
 * Reads the hashes of complete subtrees, in the order in which they are asked for. A proof or a root is asked for in one call.
 * `readHashesFromTiles` makes one from tiles.
 */
export type ReadHashes = (subtrees: readonly Subtree[]) => Promise<readonly Uint8Array[]>

/** The root of a tree without entries (RFC 6962 section 2.1): SHA-256 of nothing. */
export function emptyTreeRoot(): Uint8Array {
  return sha256(new Uint8Array())
}

/** The hash of an entry (RFC 6962 section 2.1): SHA-256(0x00 ‖ entry). */
export function hashLeaf(entry: Uint8Array): Uint8Array {
  return sha256.create().update(LEAF).update(entry).digest()
}

/** The hash of a subtree from those of its two halves (RFC 6962 section 2.1): SHA-256(0x01 ‖ left ‖ right). */
export function hashNode(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256.create().update(NODE).update(left).update(right).digest()
}

const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)

/** The root of a tree (RFC 6962 section 2.1). @param size number of entries; `read` is not called for 0 */
export async function treeRoot(size: number, read: ReadHashes): Promise<Uint8Array> {
  if (size === 0) return emptyTreeRoot()
  const [root] = await hashRanges([{ start: 0, end: size }], read)
  return root as Uint8Array
}

/**
 * The audit path of an entry (RFC 6962 section 2.1.1), from the sibling of the leaf to a child of the root.
 * @param index of the entry, from 0
 * @param size of the tree
 * @throws RangeError if the index is not below the size
 */
export function proveInclusion(
  index: number,
  size: number,
  read: ReadHashes,
): Promise<Uint8Array[]> {
  if (!(index >= 0 && index < size)) throw new RangeError('the tree has no such entry')
  const ranges: Range[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const middle = start + largestPowerBelow(end - start)
    const isLeft = index < middle
    ranges.push(isLeft ? { start: middle, end } : { start, end: middle })
    if (isLeft) end = middle
    else start = middle
  }
  return hashRanges(ranges.reverse(), read)
}

/**
 * The proof that a tree contains an earlier one (RFC 6962 section 2.1.2). Empty if the sizes are equal, or if the old one is 0.
 * @throws RangeError if the old size is above the new one
 */
export function proveConsistency(
  oldSize: number,
  newSize: number,
  read: ReadHashes,
): Promise<Uint8Array[]> {
  if (!(oldSize >= 0 && oldSize <= newSize)) throw new RangeError('the old tree is larger')
  if (oldSize === 0 || oldSize === newSize) return Promise.resolve([])
  const ranges: Range[] = []
  let [start, end] = [0, newSize]
  while (end !== oldSize) {
    const middle = start + largestPowerBelow(end - start)
    const isLeft = oldSize <= middle
    ranges.push(isLeft ? { start: middle, end } : { start, end: middle })
    if (isLeft) end = middle
    else start = middle
  }
  // The verifier has the root of the old tree, which is this range if it begins at 0.
  if (start > 0) ranges.push({ start, end })
  return hashRanges(ranges.reverse(), read)
}

/**
 * Whether an audit path leads from an entry to the root (RFC 9162 section 2.1.3.2, the same tree as in RFC 6962).
 * @param leaf the hash of the entry
 */
export function verifyInclusion(
  {
    index,
    size,
    leaf,
    root,
  }: {
    readonly index: number
    readonly size: number
    readonly leaf: Uint8Array
    readonly root: Uint8Array
  },
  proof: readonly Uint8Array[],
): boolean {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size)) return false
  if (index < 0 || index >= size || !proof.every(isHash)) return false
  let [node, last] = [index, size - 1]
  let hash = leaf
  for (const sibling of proof) {
    if (last === 0) return false
    if (isOdd(node) || node === last) {
      hash = hashNode(sibling, hash)
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)]
    } else {
      hash = hashNode(hash, sibling)
    }
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 && equalHashes(hash, root)
}

/** A tree: its number of entries, and its root, 32 bytes. */
export interface TreeHead {
  readonly size: number
  readonly root: Uint8Array
}

/**
 * Whether the new tree contains the old one at its beginning (RFC 9162 section 2.1.4.2). Every tree contains the empty one, and
 * only itself at the same size; both have an empty proof.
 */
export function verifyConsistency(
  old: TreeHead,
  current: TreeHead,
  proof: readonly Uint8Array[],
): boolean {
  if (!Number.isSafeInteger(old.size) || !Number.isSafeInteger(current.size)) return false
  if (old.size < 0 || old.size > current.size || !proof.every(isHash)) return false
  if (old.size === 0) return proof.length === 0 && equalHashes(old.root, emptyTreeRoot())
  if (old.size === current.size) return proof.length === 0 && equalHashes(old.root, current.root)
  const path = isPowerOfTwo(old.size) ? [old.root, ...proof] : proof
  const [first] = path
  if (proof.length === 0 || first === undefined) return false
  let [node, last] = [old.size - 1, current.size - 1]
  while (isOdd(node)) [node, last] = [half(node), half(last)]
  let [oldHash, newHash] = [first, first]
  for (const sibling of path.slice(1)) {
    if (last === 0) return false
    if (isOdd(node) || node === last) {
      oldHash = hashNode(sibling, oldHash)
      newHash = hashNode(sibling, newHash)
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)]
    } else {
      newHash = hashNode(newHash, sibling)
    }
    ;[node, last] = [half(node), half(last)]
  }
  return last === 0 && equalHashes(oldHash, old.root) && equalHashes(newHash, current.root)
}

/** Whether two hashes are the same. Not in constant time: the hashes of a log are public. */
export function equalHashes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}

/** Entries from `start` to below `end`, which a node of the tree covers. */
interface Range {
  readonly start: number
  readonly end: number
}

async function hashRanges(ranges: readonly Range[], read: ReadHashes): Promise<Uint8Array[]> {
  const parts = ranges.map(subtreesOf)
  const hashes = await read(parts.flat())
  let at = 0
  return parts.map((part) => {
    const own = hashes.slice(at, at + part.length)
    at += part.length
    return own.reduceRight((right, left) => hashNode(left, right))
  })
}

/** The complete subtrees of a range, from left to right. */
function subtreesOf({ start, end }: Range): Subtree[] {
  const subtrees: Subtree[] = []
  for (let at = start; at < end; ) {
    const width = largestPowerBelow(end - at + 1)
    subtrees.push({ level: Math.log2(width), index: at / width })
    at += width
  }
  return subtrees
}

/** The largest power of two below a number, which is at least 2. */
function largestPowerBelow(number: number): number {
  let power = 1
  while (power * 2 < number) power *= 2
  return power
}

function isPowerOfTwo(number: number): boolean {
  return largestPowerBelow(number + 1) === number
}

// Sizes may exceed 2^32, where JavaScript's bit operations end.
function isOdd(number: number): boolean {
  return number % 2 === 1
}

function half(number: number): number {
  return Math.floor(number / 2)
}

function isHash(bytes: Uint8Array): boolean {
  return bytes.length === TREE_HASH_BYTES
}
