import { sha256 } from '@noble/hashes/sha2.js'
import { decodeBase64, encodeBase64, utf8 } from '../encoding.ts'

/** Types of signatures of C2SP signed-note: Ed25519 over the text, and cosignatures with a time (C2SP tlog-cosignature). */
export const NOTE_KEY_TYPES = { ed25519: 1, cosignature: 4 } as const
export type NoteKeyType = keyof typeof NOTE_KEY_TYPES

/** A key that signs notes. */
export interface NoteKey {
  /** Without white space and `+`. */
  readonly name: string
  readonly type: NoteKeyType
  /** Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array
}

/** A signature line of a note. */
export interface NoteSignature {
  readonly name: string
  /** The first 4 bytes of a hash of the key, as a number. */
  readonly keyId: number
  /** What follows the key ID: 64 bytes for a signature of Ed25519, 72 for a cosignature. */
  readonly signature: Uint8Array
}

/** A note: signed text (C2SP signed-note). */
export interface Note {
  /** What the signatures are over, with its final line feed. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

/** Verifies a signature of Ed25519 strictly, such as `crypto_sign_verify_detached` of libsodium. */
export type VerifyEd25519 = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean | Promise<boolean>

/** The longest note that is read. A checkpoint with 16 signatures has below 4,000 bytes. */
export const NOTE_MAX_LENGTH = 65_536
const MAX_SIGNATURES = 64

const NAME_PATTERN = /^[^\s+\p{Cc}\p{Cs}\p{Z}]+$/u
/** No control character but the line feed; well-formed Unicode. */
const NOTE_PATTERN = /^(?:[^\p{Cc}\p{Cs}]|[\u007f-\u009f]|\n)*$/u

/** The ID of a key: the first 4 bytes of SHA-256(name ‖ 0x0A ‖ type ‖ public key), big-endian. */
export function noteKeyId({ name, type, publicKey }: NoteKey): number {
  const digest = sha256
    .create()
    .update(utf8(`${name}\n`))
    .update(Uint8Array.of(NOTE_KEY_TYPES[type]))
    .update(publicKey)
    .digest()
  return new DataView(digest.buffer, digest.byteOffset).getUint32(0)
}

/**
 * A key as text, `<name>+<key ID in hexadecimal>+<base64 of type and public key>`, as policies and Go's `note.NewVerifier` read it.
 * @throws RangeError if the name has white space or a `+`, or the public key has not 32 bytes
 */
export function formatVerifierKey(key: NoteKey): string {
  const { name, type, publicKey } = key
  if (!isNoteName(name)) throw new RangeError('a key name has no white space and no +')
  if (publicKey.length !== 32) throw new RangeError('a public key has 32 bytes')
  const encoded = encodeBase64(Uint8Array.of(NOTE_KEY_TYPES[type], ...publicKey))
  return `${name}+${noteKeyId(key).toString(16).padStart(8, '0')}+${encoded}`
}

/** Parses the text of a key. @returns null if it is malformed, of another type, or its ID is not that of the key */
export function parseVerifierKey(text: string): NoteKey | null {
  const [, name, id, encoded] = /^([^+]+)\+([0-9a-f]{8})\+(.*)$/u.exec(text) ?? []
  if (name === undefined || id === undefined || !isNoteName(name)) return null
  const bytes = decodeBase64(encoded ?? '')
  if (bytes?.length !== 33) return null
  const type = (Object.keys(NOTE_KEY_TYPES) as NoteKeyType[]).find(
    (each) => NOTE_KEY_TYPES[each] === bytes[0],
  )
  if (type === undefined) return null
  const key = { name, type, publicKey: bytes.slice(1) }
  return noteKeyId(key) === Number.parseInt(id, 16) ? key : null
}

/** Whether text can be the name of a key: not empty, without white space, `+` and control characters. */
export function isNoteName(text: string): boolean {
  return NAME_PATTERN.test(text)
}

/** A note as text. @param text with its final line feed @throws RangeError if it has none, or a signature no valid name */
export function formatNote({ text, signatures }: Note): string {
  if (!text.endsWith('\n')) throw new RangeError('the text of a note ends with a line feed')
  return `${text}\n${signatures.map(formatSignature).join('')}`
}

/** A signature line, with its line feed. @throws RangeError if the name has white space or a `+` */
export function formatSignature({ name, keyId, signature }: NoteSignature): string {
  if (!isNoteName(name)) throw new RangeError('a key name has no white space and no +')
  const bytes = new Uint8Array(4 + signature.length)
  new DataView(bytes.buffer).setUint32(0, keyId)
  bytes.set(signature, 4)
  return `\u2014 ${name} ${encodeBase64(bytes)}\n`
}

/**
 * Parses a note. Nothing is verified: use `isSignedBy` or `openCheckpoint`.
 * @returns null if it is malformed, has no signature, over 64 of them, or over 65,536 characters
 */
export function parseNote(note: string): Note | null {
  if (note.length > NOTE_MAX_LENGTH || !NOTE_PATTERN.test(note)) return null
  const end = note.lastIndexOf('\n\n')
  if (end < 0) return null
  const signatures = parseSignatures(note.slice(end + 2))
  return signatures === null ? null : { text: note.slice(0, end + 1), signatures }
}

/** Parses signature lines, each with its line feed, as a witness answers. @returns null if there is none, over 64, or one is malformed */
export function parseSignatures(lines: string): NoteSignature[] | null {
  if (!lines.endsWith('\n')) return null
  const signatures = lines.slice(0, -1).split('\n').map(parseSignature)
  if (signatures.length > MAX_SIGNATURES) return null
  return signatures.every((each) => each !== null) ? signatures : null
}

function parseSignature(line: string): NoteSignature | null {
  const [, name, encoded] = /^\u2014 ([^ ]+) ([^ ]+)$/u.exec(line) ?? []
  if (name === undefined || encoded === undefined || !isNoteName(name)) return null
  const bytes = decodeBase64(encoded)
  if (bytes === null || bytes.length < 5) return null
  const keyId = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)
  return { name, keyId, signature: bytes.slice(4) }
}

/** The signatures of a note by a key: those with its name and ID. */
export function signaturesOf(note: Note, key: NoteKey): NoteSignature[] {
  const id = noteKeyId(key)
  return note.signatures.filter(({ name, keyId }) => name === key.name && keyId === id)
}

/**
 * Whether a key of Ed25519 (not of cosignatures) has signed a note. If the note has several signatures by the key, all of them
 * verify.
 */
export async function isSignedBy(
  note: Note,
  key: NoteKey,
  verify: VerifyEd25519,
): Promise<boolean> {
  const signatures = signaturesOf(note, key)
  if (key.type !== 'ed25519' || signatures.length === 0) return false
  const message = utf8(note.text)
  for (const { signature } of signatures) {
    if (signature.length !== 64 || !(await verify(key.publicKey, message, signature))) return false
  }
  return true
}
