import { decodeKey, encodeBase64 } from '../encoding.ts'
import { parseTreeSize } from './checkpoint.ts'
import { TREE_HASH_BYTES } from './merkle-tree.ts'

/** What a log asks a witness to cosign (C2SP tlog-witness, `add-checkpoint`). */
export interface AddCheckpointRequest {
  /** The size of the tree that the witness has cosigned last; 0: none. */
  readonly oldSize: number
  /** From that tree to the one of the checkpoint (`proveConsistency`), at most 63 hashes; empty if the old size is 0. */
  readonly proof: readonly Uint8Array[]
  /** The signed note. */
  readonly checkpoint: string
}

/** The media type of the size that a witness answers with status 409, if it has cosigned a tree of another size last. */
export const TREE_SIZE_TYPE = 'text/x.tlog.size'
/** C2SP tlog-witness: a tree of 2^63 entries has no longer proof. */
const MAX_PROOF = 63

/**
 * The body of a request.
 * @throws RangeError if the old size is not an integer from 0, or the proof has over 63 hashes or one that has not 32 bytes
 */
export function formatAddCheckpoint({ oldSize, proof, checkpoint }: AddCheckpointRequest): string {
  if (!Number.isSafeInteger(oldSize) || oldSize < 0) throw new RangeError('a size is an integer')
  if (proof.length > MAX_PROOF || proof.some(({ length }) => length !== TREE_HASH_BYTES))
    throw new RangeError(`a proof has at most ${MAX_PROOF} hashes of ${TREE_HASH_BYTES} bytes`)
  return `${[`old ${oldSize}`, ...proof.map(encodeBase64)].join('\n')}\n\n${checkpoint}`
}

/** Parses the body of a request. Neither the note nor the proof is verified. @returns null if it is malformed, or has over 63 hashes */
export function parseAddCheckpoint(body: string): AddCheckpointRequest | null {
  const end = body.indexOf('\n\n')
  if (end < 0) return null
  const [first = '', ...lines] = body.slice(0, end).split('\n')
  const oldSize = first.startsWith('old ') ? parseTreeSize(first.slice('old '.length)) : null
  const proof = lines.map(decodeKey)
  if (oldSize === null || proof.length > MAX_PROOF) return null
  if (!proof.every((hash) => hash !== null)) return null
  return { oldSize, proof, checkpoint: body.slice(end + 2) }
}

/** The body of an answer with status 409: the size of the tree that the witness has cosigned last. */
export function formatTreeSizeAnswer(size: number): string {
  return `${size}\n`
}

/** Parses such a body. @returns null if it is malformed */
export function parseTreeSizeAnswer(body: string): number | null {
  return body.endsWith('\n') ? parseTreeSize(body.slice(0, -1)) : null
}
