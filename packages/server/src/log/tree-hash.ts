import { hash } from 'node:crypto'
import {
  COMMITMENT_SALT_BYTES,
  LOG_ENTRY_MAX_BYTES,
  type Naming,
  TREE_HASH_BYTES,
} from '@countersign/protocol'
import { sha256 } from '../base/sha256.ts'

/*
 * The hashes of `protocol` by Node's own SHA-256, which takes a fifth of the time: the sequencer computes some for each change.
 */

/** What is hashed is put together here, without a new buffer each time. */
const leaf = Buffer.alloc(1 + LOG_ENTRY_MAX_BYTES)
const node = Buffer.alloc(1 + 2 * TREE_HASH_BYTES)
leaf[0] = 0
node[0] = 1

/** `hashLeaf` of `protocol`. @throws RangeError if the entry is too long for the log */
export function leafHash(entry: Uint8Array): Uint8Array {
  leaf.set(entry, 1)
  return sha256(leaf.subarray(0, 1 + entry.length))
}

/** `hashNode` of `protocol`. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1)
  node.set(right, 1 + TREE_HASH_BYTES)
  return sha256(node)
}

/**
 * `commitmentTo` of `protocol`.
 * @param evidence canonical JSON
 */
export function commitmentOf(
  { shortName }: Pick<Naming, 'shortName'>,
  salt: Uint8Array,
  evidence: string,
): string {
  if (salt.length !== COMMITMENT_SALT_BYTES) throw new RangeError('a salt has 32 bytes')
  const prefix = `${shortName}-log-commitment-v1`
  const bytes = Buffer.allocUnsafe(prefix.length + salt.length + Buffer.byteLength(evidence))
  bytes.write(prefix, 'latin1')
  bytes.set(salt, prefix.length)
  bytes.write(evidence, prefix.length + salt.length)
  return hash('sha256', bytes, 'base64')
}
