import { emptyTreeRoot, hashNode } from '@countersign/protocol'

/**
 * The right edge of a Merkle tree (RFC 6962): the roots of its complete subtrees, the largest first, one for each bit of its size.
 * Entries can be added, and the root computed, without anything else.
 */
export class TreeFrontier {
  #size: number
  readonly #subtrees: Uint8Array[]

  constructor(size = 0, subtrees: readonly Uint8Array[] = []) {
    this.#size = size
    this.#subtrees = [...subtrees]
  }

  get size(): number {
    return this.#size
  }

  get subtrees(): readonly Uint8Array[] {
    return this.#subtrees
  }

  /** Adds an entry. @param leaf `hashLeaf` of it */
  append(leaf: Uint8Array): void {
    let hash = leaf
    for (let rest = this.#size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
      hash = hashNode(this.#subtrees.pop() as Uint8Array, hash)
    }
    this.#subtrees.push(hash)
    this.#size += 1
  }

  root(): Uint8Array {
    if (this.#size === 0) return emptyTreeRoot()
    return this.#subtrees.reduceRight((right, left) => hashNode(left, right))
  }
}
