import {
  type Checkpoint,
  decodeKey,
  decodeSignature,
  encodeBase64,
  encodeBase64Url,
  type Naming,
  utf8,
} from '@countersign/protocol'
import type { Database } from '../database/database.ts'
import type { LogEpochRow } from '../database/schema/log-rows.ts'
import { Ed25519Verifier } from '../secrets/ed25519.ts'
import type { ServiceKey } from '../secrets/service-keys.ts'
import { answerJoin, deleteJoins, insertJoin, joinOf, openJoins } from './join-table.ts'

export interface JoinDeps {
  readonly db: Pick<Database, 'read' | 'write'>
  readonly naming: Pick<Naming, 'shortName'>
  /** The key of the purpose `log`: all nodes have the same one. */
  readonly key: ServiceKey
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

/** How long a question can be answered. */
const JOIN_MS = 60_000
const NONCE_BYTES = 32

interface Answer {
  readonly size: number
  /** Base64, as the signature. */
  readonly root: string
  readonly signature: string
}

/**
 * What the key of the log signs for a node that joins. It is no checkpoint: the second line of one is a number.
 * @param nonce 43 characters of base64url
 */
export function joinMessage(
  { shortName }: Pick<Naming, 'shortName'>,
  nonce: string,
  { origin, size, root }: Checkpoint,
): Uint8Array {
  return utf8(`${shortName}-log-join-v1\n${nonce}\n${origin}\n${size}\n${encodeBase64(root)}`)
}

/** Answers the nodes that ask which state of the log is the newest. Call it while the database contains the anchor. */
export async function answerJoins(
  { db, naming, key, now }: JoinDeps,
  anchor: Checkpoint | null,
  { origin }: Pick<LogEpochRow, 'origin'>,
): Promise<void> {
  if (anchor?.origin !== origin) return
  for (const { nonce } of await openJoins(db.read, now() - JOIN_MS)) {
    const signature = encodeBase64(key.sign(joinMessage(naming, nonce, anchor)))
    const answer: Answer = { size: anchor.size, root: encodeBase64(anchor.root), signature }
    await db.write((tx) => answerJoin(tx, nonce, JSON.stringify(answer)))
  }
}

/**
 * A node that has no anchor asks the others for the newest state that they have signed or served. Only a node that has an anchor
 * answers, with a signature over a fresh nonce, so that neither a database that was restored nor an old answer can.
 */
export class Joining {
  readonly #deps: JoinDeps
  readonly #ed25519 = new Ed25519Verifier()
  #asked: { readonly nonce: string; readonly at: number } | null = null

  constructor(deps: JoinDeps) {
    this.#deps = deps
  }

  /** Asks, unless that was done within a minute, and reads the answer. @returns null if there is none that is valid */
  async learn({ origin }: Pick<LogEpochRow, 'origin'>): Promise<Checkpoint | null> {
    const { db, now, randomBytes } = this.#deps
    const at = now()
    if (this.#asked === null || Math.abs(at - this.#asked.at) >= JOIN_MS) {
      const asked = { nonce: encodeBase64Url(randomBytes(NONCE_BYTES)), at }
      await db.write(async (tx) => {
        await deleteJoins(tx, at - JOIN_MS)
        await insertJoin(tx, { ...asked, answer: null })
      })
      this.#asked = asked
      return null
    }
    const { nonce } = this.#asked
    const answer = await joinOf(db.read, nonce)
    return answer === null ? null : this.#verify(answer, nonce, origin)
  }

  /** The node has an anchor: an answer that comes later is of no use. */
  end(): void {
    this.#asked = null
  }

  async #verify(text: string, nonce: string, origin: string): Promise<Checkpoint | null> {
    const { naming, key } = this.#deps
    const answer = parseAnswer(text)
    if (answer === null) return null
    const { signature, ...state } = answer
    const known = { origin, ...state }
    const message = joinMessage(naming, nonce, known)
    return (await this.#ed25519.verify(key.publicKey, message, signature)) ? known : null
  }
}

/** @returns null if it is malformed: anyone who writes to the database may have written it */
function parseAnswer(text: string) {
  try {
    const { size, root: encodedRoot, signature: encoded } = JSON.parse(text) as Answer
    const [root, signature] = [decodeKey(encodedRoot), decodeSignature(encoded)]
    return root === null || signature === null ? null : { size, root, signature }
  } catch {
    return null
  }
}
