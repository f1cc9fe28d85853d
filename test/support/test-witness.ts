import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  type AddCheckpointRequest,
  type Checkpoint,
  cosignatureMessage,
  formatCosignature,
  formatSignature,
  formatTreeSizeAnswer,
  formatVerifierKey,
  type NoteKey,
  noteKeyId,
  parseAddCheckpoint,
  parseCheckpoint,
  parseNote,
  TREE_SIZE_TYPE,
  verifyConsistency,
} from '@countersign/protocol'
import sodium from 'sodium-native'
import { startSite } from './impostor.ts'
import { type Cleanup, tempDir } from './service.ts'

/** What a witness answers over HTTP. */
interface Answer {
  readonly status: number
  readonly type?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A witness (C2SP tlog-witness) of any log, without durability. It does not verify the signature of the log. */
export interface TestWitness {
  readonly key: NoteKey
  readonly vkey: string
  readonly url: string
  /** A line of a policy. */
  readonly line: string
  /** By origin. A test can change it, as a witness that was restored would have it. */
  readonly cosigned: Map<string, Checkpoint>
  /** All requests, in order. */
  readonly asked: readonly AddCheckpointRequest[]
  /** What the test answers instead; `honest` is what it would have answered. Null: an honest witness. */
  instead: ((honest: () => Answer, request: AddCheckpointRequest) => Answer) | null
  /** The line of a cosignature. @param time Unix seconds */
  cosign(text: string, time: number): string
}

/** @param now the clock of its cosignatures, in milliseconds */
export async function startTestWitness(
  t: Cleanup,
  name: string,
  now: () => number = Date.now,
): Promise<TestWitness> {
  const [publicKey, secretKey] = [Buffer.alloc(32), Buffer.alloc(64)]
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, randomBytes(32))
  const key: NoteKey = {
    name: `${name}.example/witness`,
    type: 'cosignature',
    publicKey: Uint8Array.from(publicKey),
  }
  const cosigned = new Map<string, Checkpoint>()
  const asked: AddCheckpointRequest[] = []
  const witness: Omit<TestWitness, 'url' | 'line'> & Pick<TestWitness, 'instead'> = {
    key,
    vkey: formatVerifierKey(key),
    cosigned,
    asked,
    instead: null,
    cosign(signed, time) {
      const signature = Buffer.alloc(64)
      const message = Buffer.from(cosignatureMessage(signed, time))
      sodium.crypto_sign_detached(signature, message, secretKey)
      const bytes = formatCosignature(time, signature)
      return formatSignature({ name: key.name, keyId: noteKeyId(key), signature: bytes })
    },
  }
  const url = await startSite(t, async (request, response) => {
    const parsed = parseAddCheckpoint(await text(request))
    if (request.url !== '/w/add-checkpoint' || request.method !== 'POST' || parsed === null)
      return void response.writeHead(400).end()
    asked.push(parsed)
    const honest = () => answerHonestly(witness, parsed, Math.floor(now() / 1000))
    const { status, type, body, headers } = witness.instead?.(honest, parsed) ?? honest()
    response.writeHead(status, { 'content-type': type ?? 'text/plain; charset=utf-8', ...headers })
    response.end(body)
  })
  return Object.assign(witness, {
    url: `${url}/w`,
    line: `witness ${name} ${witness.vkey} ${url}/w\n`,
  })
}

function answerHonestly(
  { cosigned, cosign }: Pick<TestWitness, 'cosigned' | 'cosign'>,
  { oldSize, proof, checkpoint }: AddCheckpointRequest,
  time: number,
): Answer {
  const note = parseNote(checkpoint)
  const current = note && parseCheckpoint(note.text)
  if (note === null || current === null || oldSize > current.size) return { status: 400 }
  const known = cosigned.get(current.origin)
  const size = known?.size ?? 0
  if (oldSize !== size)
    return { status: 409, type: TREE_SIZE_TYPE, body: formatTreeSizeAnswer(size) }
  const isConsistent =
    known === undefined || size === 0
      ? proof.length === 0
      : verifyConsistency(known, current, proof)
  if (!isConsistent) return { status: 422 }
  cosigned.set(current.origin, current)
  return { status: 200, body: cosign(note.text, time) }
}

/** Writes a policy to a file. @returns its path, for WITNESSES */
export function policyFile(t: Cleanup, lines: string): string {
  const file = join(tempDir(t), 'witnesses.txt')
  writeFileSync(file, lines)
  return file
}
