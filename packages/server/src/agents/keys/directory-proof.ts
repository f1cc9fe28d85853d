import {
  CodedError,
  DIRECTORY_CLOCK_SKEW,
  DIRECTORY_PROOF_MAX_AGE,
  DIRECTORY_PROOF_MAX_LIFETIME,
  type DirectoryProof,
  type DirectoryProofRequest,
  directoryMessage,
  keyThumbprint,
  type ParsedDirectorySignature,
  parseDirectorySignature,
  StructuredFieldError,
} from '@countersign/protocol'
import { didOfAgent, tailOf } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, Db, Tx } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { Ed25519Verifier } from '../../secrets/ed25519.ts'
import type { StoredDirectoryProof } from '../agent-record.ts'
import { agentByTail } from '../agent-table.ts'
import { changeAgent } from '../changes/change-agent.ts'

export interface DirectoryProofDeps extends Pick<CoreDeps, 'db' | 'site' | 'now'> {
  readonly ed25519: Ed25519Verifier
}

/**
 * Stores an agent's signature over its own key set, which the service then sends with the key set. It shows verifiers that
 * the key's holder agreed to its publication here. The signature alone authenticates the request.
 * @param reference the agent's DID or its tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, INVALID_SIGNATURE; CONFLICT if the agent is not active, or a signature
 *   that is not older is stored, so that nobody can replace a signature by an earlier one
 */
export async function proveDirectory(
  { db, site, ed25519, now }: DirectoryProofDeps,
  reference: string,
  request: DirectoryProofRequest,
): Promise<DirectoryProof> {
  const tail = tailOf(site.naming, reference)
  const proof = readProof(request)
  assertTimes(proof, now() / 1000)
  const { public_key: publicKey } = await requireActive(db.read, tail)
  const message = directoryMessage(site.host, proof.params)
  const isValid =
    keyThumbprint(publicKey) === proof.keyid &&
    (await ed25519.verify(publicKey, message, proof.bytes))
  if (!isValid) {
    throw new CodedError(
      'INVALID_SIGNATURE',
      `The signature is not one of this agent’s current key over "@authority";req: ${site.host}.`,
    )
  }
  const { signatureInput, signature, keyid, created, expires } = proof
  await db.write(async (tx) => {
    const agent = await requireActive(tx.db, tail)
    // The key may have changed since the signature was verified.
    if (Buffer.compare(agent.public_key, publicKey) !== 0) {
      throw new CodedError('CONFLICT', 'The key of this agent has changed. Sign with the new one.')
    }
    await store(tx, agent, { signatureInput, signature, keyid, created, expires }, now())
  })
  return {
    [site.naming.didField]: didOfAgent(site, tail),
    keyid,
    expiresAt: timestamp(expires * 1000),
  }
}

function readProof(request: DirectoryProofRequest): ParsedDirectorySignature {
  try {
    return parseDirectorySignature(request)
  } catch (cause) {
    if (!(cause instanceof StructuredFieldError)) throw cause
    const message = `The signature over the key set cannot be read: ${cause.message}.`
    throw new CodedError('VALIDATION_ERROR', message, { cause })
  }
}

/** @param now Unix seconds */
function assertTimes({ created, expires }: ParsedDirectorySignature, now: number): void {
  if (created > now + DIRECTORY_CLOCK_SKEW || created < now - DIRECTORY_PROOF_MAX_AGE) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `created must be within the last 5 minutes: the time of this service is ${Math.floor(now)}.`,
    )
  }
  if (expires > now && expires - created <= DIRECTORY_PROOF_MAX_LIFETIME) return
  throw new CodedError(
    'VALIDATION_ERROR',
    'expires must be in the future, and at most 30 days after created.',
  )
}

async function requireActive(db: Db, tail: string): Promise<AgentRow> {
  const agent = await agentByTail(db, tail)
  if (agent === undefined) throw new CodedError('NOT_FOUND', 'There is no agent with this DID.')
  if (agent.status === 'active') return agent
  throw new CodedError(
    'CONFLICT',
    `This agent is ${agent.status}: its key set is empty, and nothing is served with it.`,
  )
}

/** The same signature again changes nothing: a retry after a lost response succeeds. */
async function store(
  tx: Tx,
  { tail, directory_proof: stored }: AgentRow,
  proof: StoredDirectoryProof,
  at: number,
): Promise<void> {
  const text = JSON.stringify(proof)
  if (stored === text) return
  const before = stored === null ? null : (JSON.parse(stored) as StoredDirectoryProof)
  if (before?.keyid === proof.keyid && before.created >= proof.created) {
    throw new CodedError(
      'CONFLICT',
      'A signature that was made at the same time or later is stored. Make a new one.',
    )
  }
  await changeAgent(tx, tail, { type: 'agent.directory_proven', proof }, at)
}
