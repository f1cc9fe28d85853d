import { utf8 } from '../encoding.ts'
import { type Note, type NoteKey, signaturesOf, type VerifyEd25519 } from './signed-note.ts'

/**
 * The bytes that a witness signs (C2SP tlog-cosignature, `cosignature/v1`).
 * @param text of the checkpoint, with its final line feed
 * @param time Unix seconds
 */
export function cosignatureMessage(text: string, time: number): Uint8Array {
  return utf8(`cosignature/v1\ntime ${time}\n${text}`)
}

/** What a signature line of a witness has after the key ID: the time, 8 bytes, big-endian, and the signature of 64 bytes. */
export function formatCosignature(time: number, signature: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(8 + signature.length)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(time))
  bytes.set(signature, 8)
  return bytes
}

/**
 * Verifies the cosignature of a checkpoint by a witness.
 * @param witness a key of the type `cosignature`
 * @returns the time that the witness signed, in Unix seconds; null if there is no cosignature by this key, or one is invalid
 */
export async function verifyCosignature(
  note: Note,
  witness: NoteKey,
  verify: VerifyEd25519,
): Promise<number | null> {
  if (witness.type !== 'cosignature') return null
  let newest: number | null = null
  for (const { signature } of signaturesOf(note, witness)) {
    if (signature.length !== 72) return null
    const time = Number(new DataView(signature.buffer, signature.byteOffset).getBigUint64(0))
    if (!Number.isSafeInteger(time)) return null
    const message = cosignatureMessage(note.text, time)
    if (!(await verify(witness.publicKey, message, signature.subarray(8)))) return null
    newest = Math.max(newest ?? 0, time)
  }
  return newest
}
