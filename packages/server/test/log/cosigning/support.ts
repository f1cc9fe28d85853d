import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  formatAddCheckpoint,
  formatCheckpoint,
  formatNote,
  formatVerifierKey,
  hashLeaf,
  hashNode,
  type NoteKey,
  noteKeyId,
  parseSignatures,
  proveConsistency,
  type ReadHashes,
  treeRoot,
  utf8,
  verifyCosignature,
} from '@countersign/protocol'
import sodium from 'sodium-native'
import { verifyEd25519 } from '../../../../../test/support/log-client.ts'
import { type Cleanup, tempDir } from '../../../../../test/support/service.ts'

/** A log in memory that signs whatever it is asked to. */
export class TestLog {
  readonly key: NoteKey
  readonly #secretKey: Buffer
  readonly #leaves: readonly Uint8Array[]

  constructor(
    origin = 'log.example/log/1',
    leaves: readonly Uint8Array[] = leavesOf('entry', 0, 300),
    secretKey = newSecretKey(),
  ) {
    this.#secretKey = secretKey
    this.#leaves = leaves
    const publicKey = Uint8Array.from(secretKey.subarray(32))
    this.key = { name: origin, type: 'ed25519', publicKey }
  }

  get vkey(): string {
    return formatVerifierKey(this.key)
  }

  /** Another history under the same key, equal for the first entries. */
  fork(size: number, label = 'forked'): TestLog {
    const leaves = [...this.#leaves.slice(0, size), ...leavesOf(label, size, this.#leaves.length)]
    return new TestLog(this.key.name, leaves, this.#secretKey)
  }

  /** The signed note of the first entries. @param extension a further line */
  async checkpoint(size: number, extension = ''): Promise<string> {
    const root = await treeRoot(size, this.#read)
    return this.sign(`${formatCheckpoint({ origin: this.key.name, size, root })}${extension}`)
  }

  /** A note with this text. */
  sign(text: string): string {
    const signature = Buffer.alloc(sodium.crypto_sign_BYTES)
    sodium.crypto_sign_detached(signature, Buffer.from(utf8(text)), this.#secretKey)
    const { name } = this.key
    return formatNote({ text, signatures: [{ name, keyId: noteKeyId(this.key), signature }] })
  }

  proof(old: number, size: number): Promise<Uint8Array[]> {
    return old === 0 ? Promise.resolve([]) : proveConsistency(old, size, this.#read)
  }

  /** The body of `add-checkpoint`. */
  async request(old: number, size: number): Promise<string> {
    const checkpoint = await this.checkpoint(size)
    return formatAddCheckpoint({ oldSize: old, proof: await this.proof(old, size), checkpoint })
  }

  readonly #read: ReadHashes = async (subtrees) =>
    subtrees.map(({ level, index }) => {
      const width = 2 ** level
      return rootOf(this.#leaves.slice(index * width, (index + 1) * width))
    })
}

function newSecretKey(): Buffer {
  const [publicKey, secretKey] = [Buffer.alloc(32), Buffer.alloc(64)]
  sodium.crypto_sign_keypair(publicKey, secretKey)
  return secretKey
}

function leavesOf(label: string, from: number, to: number): Uint8Array[] {
  return Array.from({ length: to - from }, (_, i) => hashLeaf(utf8(`${label} ${from + i}`)))
}

function rootOf(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 1) return hashes[0] as Uint8Array
  const half = hashes.length / 2
  return hashNode(rootOf(hashes.slice(0, half)), rootOf(hashes.slice(half)))
}

/** A file for WITNESS_LOGS. */
export function witnessLogsFile(t: Cleanup, logs: readonly TestLog[]): string {
  const file = join(tempDir(t), 'witness-logs')
  writeFileSync(file, `# Logs of others\n${logs.map(({ vkey }) => `log ${vkey}\n`).join('')}`)
  return file
}

/** Sends the body of `add-checkpoint`. */
export async function addCheckpoint(url: string, body: string) {
  const response = await fetch(`${url}/witness/add-checkpoint`, { method: 'POST', body })
  const { status, headers } = response
  return { status, type: headers.get('content-type'), text: await response.text() }
}

/** The checkpoint with the signature lines that the witness has answered, which must be its cosignature. @returns the note */
export async function cosigned(
  checkpoint: string,
  lines: string,
  witness: NoteKey,
): Promise<{ readonly note: string; readonly time: number }> {
  const signatures = parseSignatures(lines)
  assert.ok(signatures, lines)
  const [text = ''] = checkpoint.split('\n\n')
  const time = await verifyCosignature({ text: `${text}\n`, signatures }, witness, verifyEd25519)
  assert.ok(time !== null, 'the witness has cosigned this checkpoint')
  return { note: checkpoint + lines, time }
}
