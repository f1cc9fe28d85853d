import { generateKeyPairSync, sign } from 'node:crypto'
import {
  type AgentEntry,
  type AgentKeyId,
  cosignatureMessage,
  formatCheckpoint,
  formatCosignature,
  formatLogEntry,
  formatLogProof,
  formatNote,
  formatVerifierKey,
  hashLeaf,
  hashNode,
  type NoteKey,
  type NoteKeyType,
  noteKeyId,
  parseNote,
  proveInclusion,
  type ReadHashes,
  treeRoot,
  utf8,
} from '@countersign/protocol'

/** A key of a log or of a witness. */
export interface TestNoteKey {
  readonly key: NoteKey
  /** As tlog-policies name it. */
  readonly verifierKey: string
  sign(message: Uint8Array): Uint8Array
}

export function testNoteKey(name: string, type: NoteKeyType = 'ed25519'): TestNoteKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const key = { name, type, publicKey: Uint8Array.from(Buffer.from(x, 'base64url')) }
  return {
    key,
    verifierKey: formatVerifierKey(key),
    sign: (message) => Uint8Array.from(sign(null, message, privateKey)),
  }
}

/** A transparency log whose entries a test chooses. */
export interface TestLog {
  /** @returns its index */
  add(entry: AgentEntry): number
  /** The proof of an entry under a checkpoint of all entries, or of the first `size`. @param by signs the checkpoint */
  proof(index: number, options?: { size?: number; by?: TestNoteKey }): Promise<string>
}

export function testLog(key: TestNoteKey): TestLog {
  const entries: Uint8Array[] = []
  const read: ReadHashes = async (subtrees) =>
    subtrees.map(({ level, index }) => {
      const width = 2 ** level
      return rootOf(entries.slice(index * width, (index + 1) * width).map(hashLeaf))
    })
  return {
    add: (entry) => entries.push(formatLogEntry(entry)) - 1,
    async proof(index, { size = entries.length, by = key } = {}) {
      const root = await treeRoot(size, read)
      const text = formatCheckpoint({ origin: key.key.name, size, root })
      const line = { name: by.key.name, keyId: noteKeyId(by.key), signature: by.sign(utf8(text)) }
      const checkpoint = formatNote({ text, signatures: [line] })
      const path = await proveInclusion(index, size, read)
      return formatLogProof({ extra: entries[index] ?? null, index, path, checkpoint })
    },
  }
}

/** An entry that makes a key the current one. */
export function keyEntry(
  { did, keyThumbprint: key, keySequence }: AgentKeyId,
  type: 'claimed' | 'grade' = 'claimed',
): AgentEntry {
  const commitment = Buffer.alloc(32).toString('base64')
  const subject = { did, prev: null, key, keySequence, by: 'agent', commitment, at: 1 } as const
  return { v: 1, type, grade: 'C', ...subject }
}

/** A proof whose checkpoint a witness has cosigned. @param name of the signature line */
export function cosigned(proof: string, witness: TestNoteKey, name = witness.key.name): string {
  const end = proof.indexOf('\n\n') + 2
  const note = parseNote(proof.slice(end))
  if (note === null) throw new Error('the proof has no checkpoint')
  const time = 1_700_000_000
  const signature = formatCosignature(time, witness.sign(cosignatureMessage(note.text, time)))
  const line = { name, keyId: noteKeyId(witness.key), signature }
  return proof.slice(0, end) + formatNote({ ...note, signatures: [...note.signatures, line] })
}

function rootOf(hashes: readonly Uint8Array[]): Uint8Array {
  const [only] = hashes
  if (hashes.length === 1 && only !== undefined) return only
  const half = hashes.length / 2
  return hashNode(rootOf(hashes.slice(0, half)), rootOf(hashes.slice(half)))
}
