import {
  CodedError,
  decodeKey,
  decodeSignature,
  KEY_OPERATION_TOLERANCE_SECONDS,
  type KeyOperation,
  keyOperationMessage,
  type Tail,
} from '@countersign/protocol'
import type { AgentRow, Db } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import { type Ed25519Verifier, isCertifiableKey } from '../../secrets/ed25519.ts'
import { agentByTail } from '../agent-table.ts'
import type { AgentReadModel } from '../read-model/agent-read-model.ts'
import type { KeyReuse } from './key-use.ts'

/** What the operations that agents sign need. */
export interface KeyOperationDeps extends Pick<CoreDeps, 'db' | 'site' | 'now'> {
  readonly ed25519: Ed25519Verifier
  readonly readModel: AgentReadModel
  readonly keyReuse: KeyReuse
  /** How long after its redemption a recovery takes effect. */
  readonly recoveryDelayMs: number
}

/** @throws CodedError VALIDATION_ERROR if the time is more than 5 minutes off */
export function assertRecent(issuedAt: number, now: number): void {
  if (Math.abs(now / 1000 - issuedAt) <= KEY_OPERATION_TOLERANCE_SECONDS) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `issuedAt is more than 5 minutes off: the time of this service is ${Math.floor(now / 1000)}.`,
  )
}

/** @throws CodedError VALIDATION_ERROR */
export function decodeSigned(signature: string): Uint8Array {
  const bytes = decodeSignature(signature)
  if (bytes !== null) return bytes
  throw new CodedError('VALIDATION_ERROR', 'The signature is malformed.')
}

/**
 * Decodes a new key and checks that it is sound, as at a claim.
 * @throws CodedError VALIDATION_ERROR
 */
export function decodeNewKey(
  { readModel }: Pick<KeyOperationDeps, 'readModel'>,
  name: string,
  text: string,
): Uint8Array {
  const key = decodeKey(text)
  if (key !== null && (readModel.hasSeenKey(key) || isCertifiableKey(key))) return key
  throw new CodedError(
    'VALIDATION_ERROR',
    `${name} is not a sound Ed25519 key: not canonical, not on the curve, or not of the prime order.`,
  )
}

/** @throws CodedError NOT_FOUND */
export async function requireAgent(db: Db, tail: Tail): Promise<AgentRow> {
  const agent = await agentByTail(db, tail)
  if (agent !== undefined) return agent
  throw new CodedError('NOT_FOUND', 'There is no agent with this DID.')
}

/**
 * Checks in the transaction that the key is still the current one: it may have changed since the signature was verified.
 * @throws CodedError CONFLICT
 */
export function assertCurrent(
  { public_key, key_sequence: current }: AgentRow,
  signed: { readonly publicKey: Uint8Array; readonly sequence: number },
): void {
  const isCurrent = Buffer.compare(public_key, signed.publicKey) === 0
  if (isCurrent && current === signed.sequence) return
  throw new CodedError('CONFLICT', `The current key of this agent has the sequence ${current}.`)
}

/**
 * Checks a signature over a key operation.
 * @param whose names the key in the error
 * @throws CodedError INVALID_SIGNATURE
 */
export async function assertSigned(
  { ed25519, site }: Pick<KeyOperationDeps, 'ed25519' | 'site'>,
  operation: KeyOperation,
  { key, signature, whose }: { key: Uint8Array; signature: Uint8Array; whose: string },
): Promise<void> {
  const message = keyOperationMessage(site.naming, operation)
  if (await ed25519.verify(key, message, signature)) return
  throw new CodedError(
    'INVALID_SIGNATURE',
    `The signature is not one of ${whose} over this ${operation.operation} operation of ${operation.did} at ${operation.service}.`,
  )
}
