import { CodedError } from '@countersign/protocol'
import type { Database } from '../../database/database.ts'
import {
  agentsWithoutThumbprint,
  holdersOfThumbprint,
  type KeyHolder,
  storeThumbprints,
  thumbprintBytes,
} from './key-thumbprint-table.ts'

/** At most this many agents in the response. One key can have any number of labels. */
const MAX_HOLDERS = 100
/** Agents whose thumbprint is computed during a lookup, about a millisecond's work. */
const MAX_COMPUTED = 500
/** Agents in a transaction of the backfill. Other writers wait for a few milliseconds. */
const BATCH_SIZE = 500
const RETRY_SECONDS = 5

/**
 * Finds the agents with a key. Reads the database and not the read model, which has no index of thumbprints: it would cost
 * 8 bytes and a SHA-256 for each agent at every start, and would not have the agents beyond `READ_MODEL_AGENTS`.
 *
 * In a rolling upgrade, nodes of the release before insert agents without a thumbprint. The timer of each newer node fills
 * them in within a second, and until then this computes them. It never says that an agent does not exist because its
 * thumbprint is missing: if too many are missing, as after the migration of a large database, it answers 503.
 * @param thumbprint 32 bytes
 * @returns agents that are not revoked: active ones first, then in the order of their claims; at most 100
 * @throws CodedError UNAVAILABLE; StorageFailure
 */
export async function agentsOfThumbprint(
  { pointReads }: Pick<Database, 'pointReads'>,
  thumbprint: Uint8Array,
): Promise<readonly KeyHolder[]> {
  const missing = await agentsWithoutThumbprint(pointReads, MAX_COMPUTED + 1)
  if (missing.length > MAX_COMPUTED) {
    throw new CodedError(
      'UNAVAILABLE',
      'The index of thumbprints is being built after an upgrade. Try again in a few seconds.',
      { retryAfterSeconds: RETRY_SECONDS },
    )
  }
  // Read after the missing ones: what the backfill stores in between is found twice, and nothing is missed.
  const stored = await holdersOfThumbprint(pointReads, thumbprint, MAX_HOLDERS)
  const found = new Map(
    [...missing.filter(({ status }) => status !== 'revoked'), ...stored]
      .filter(({ public_key }) => Buffer.compare(thumbprintBytes(public_key), thumbprint) === 0)
      .map((agent) => [agent.tail, agent]),
  )
  return [...found.values()].toSorted(byStatusThenClaim).slice(0, MAX_HOLDERS)
}

/** `active` comes before `suspended`, as in the query. */
function byStatusThenClaim(a: KeyHolder, b: KeyHolder): number {
  if (a.status !== b.status) return a.status < b.status ? -1 : 1
  return a.seq - b.seq
}

/**
 * Stores the thumbprints that are missing, in batches. Several nodes may do it at once.
 * @param stopping ends it after the current batch
 */
export async function fillThumbprints(
  db: Pick<Database, 'read' | 'write'>,
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const agents = await agentsWithoutThumbprint(db.read, BATCH_SIZE)
    if (agents.length === 0) return
    const filled = agents.map(({ tail, public_key: publicKey }) => {
      return { tail, publicKey, thumbprint: thumbprintBytes(publicKey) }
    })
    await db.write((tx) => storeThumbprints(tx, filled))
  }
}
