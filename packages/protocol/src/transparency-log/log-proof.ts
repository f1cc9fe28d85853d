import { decodeBase64, decodeKey, encodeBase64 } from '../encoding.ts'
import { type Checkpoint, openCheckpoint, parseTreeSize } from './checkpoint.ts'
import { verifyInclusion } from './merkle-tree.ts'
import type { Note, NoteKey, VerifyEd25519 } from './signed-note.ts'

/** A proof that an entry is in a log (C2SP tlog-proof), which is verified without the network. */
export interface LogProof {
  /** What `extra` carries; nothing authenticates it but the hash of the entry. Null: none. */
  readonly extra: Uint8Array | null
  /** Of the entry, from 0. */
  readonly index: number
  /** The audit path (`proveInclusion`). */
  readonly path: readonly Uint8Array[]
  /** The signed note, with cosignatures. */
  readonly checkpoint: string
}

const HEADER = 'c2sp.org/tlog-proof@v1'

/** A proof as text. */
export function formatLogProof({ extra, index, path, checkpoint }: LogProof): string {
  const lines = [
    HEADER,
    ...(extra === null ? [] : [`extra ${encodeBase64(extra)}`]),
    `index ${index}`,
    ...path.map(encodeBase64),
  ]
  return `${lines.join('\n')}\n\n${checkpoint}`
}

/** Parses the text of a proof. Nothing is verified: use `verifyLogProof`. @returns null if it is malformed */
export function parseLogProof(text: string): LogProof | null {
  const end = text.indexOf('\n\n')
  if (end < 0) return null
  const [header, ...lines] = text.slice(0, end).split('\n')
  if (header !== HEADER) return null
  const hasExtra = lines[0]?.startsWith('extra ') === true
  const extra = hasExtra ? decodeBase64(lines.shift()?.slice('extra '.length) ?? '') : null
  const [, digits = ''] = /^index (\d+)$/.exec(lines.shift() ?? '') ?? []
  const index = parseTreeSize(digits)
  const path = lines.map(decodeKey)
  if ((hasExtra && extra === null) || index === null || lines.length > 63) return null
  if (!path.every((hash) => hash !== null)) return null
  return { extra, index, path, checkpoint: text.slice(end + 2) }
}

/**
 * Verifies that an entry is in a log.
 * @param leaf `hashLeaf` of the entry
 * @param key of the log; its name is the origin
 * @returns the checkpoint with its note, whose cosignatures are still to be verified; null if the proof does not verify
 */
export async function verifyLogProof(
  proof: LogProof,
  leaf: Uint8Array,
  key: NoteKey,
  verify: VerifyEd25519,
): Promise<{ readonly checkpoint: Checkpoint; readonly note: Note } | null> {
  const opened = await openCheckpoint(proof.checkpoint, key, verify)
  if (opened === null) return null
  const { size, root } = opened.checkpoint
  return verifyInclusion({ index: proof.index, size, leaf, root }, proof.path) ? opened : null
}
