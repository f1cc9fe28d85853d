import { decodeKey, encodeBase64 } from '../encoding.ts'
import type { TreeHead } from './merkle-tree.ts'
import {
  isSignedBy,
  type Note,
  type NoteKey,
  parseNote,
  type VerifyEd25519,
} from './signed-note.ts'

/** What a log signs: its size and its root (C2SP tlog-checkpoint). */
export interface Checkpoint extends TreeHead {
  /** Names the log, such as `id.example/log/1`. */
  readonly origin: string
}

/** The text that a checkpoint signs: origin, size and root, a line each. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${encodeBase64(root)}\n`
}

/** Parses the text of a checkpoint; extension lines are ignored. @returns null if it is malformed */
export function parseCheckpoint(text: string): Checkpoint | null {
  if (!text.endsWith('\n')) return null
  const [origin = '', size = '', encoded = '', ...extensions] = text.slice(0, -1).split('\n')
  const root = decodeKey(encoded)
  if (origin === '' || root === null || extensions.includes('')) return null
  const number = parseTreeSize(size)
  return number === null ? null : { origin, size: number, root }
}

/** A size or an index as text: decimal, without leading zeros, at most 2^53 - 1. @returns null if the text is another */
export function parseTreeSize(text: string): number | null {
  const number = Number(text)
  return /^(?:0|[1-9][0-9]{0,15})$/.test(text) && Number.isSafeInteger(number) ? number : null
}

/** A checkpoint whose signature by its log was verified, with the note, which may have cosignatures. */
export interface OpenedCheckpoint {
  readonly checkpoint: Checkpoint
  readonly note: Note
}

/**
 * Reads a signed checkpoint.
 * @param key of the log; its name is the origin
 * @returns null if it is malformed, of another log, or not signed by the key
 */
export async function openCheckpoint(
  signed: string,
  key: NoteKey,
  verify: VerifyEd25519,
): Promise<OpenedCheckpoint | null> {
  const note = parseNote(signed)
  const checkpoint = note === null ? null : parseCheckpoint(note.text)
  if (note === null || checkpoint === null || checkpoint.origin !== key.name) return null
  return (await isSignedBy(note, key, verify)) ? { checkpoint, note } : null
}
