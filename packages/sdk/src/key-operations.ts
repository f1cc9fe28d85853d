import {
  encodeBase64,
  type KeyOperation,
  keyOperationMessage,
  keyThumbprint,
  type Naming,
} from '@countersign/protocol'
import { CountersignError } from './errors.ts'
import type { Signer } from './keys/signer.ts'
import { isSignature } from './keys/verify-signature.ts'
import type { KeyReport, RecoverRequest, RotateRequest, VetoRequest } from './registry-requests.ts'
import type { AgentKeys, AgentObject } from './responses/types.ts'

/** Who signs an operation on keys. */
export interface KeyHolder {
  readonly did: string
  readonly naming: Naming
  /** The origin of the service, as it names itself. */
  readonly service: string
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** @returns base64 */
  sign(message: Uint8Array): Promise<string>
  /** Unix seconds. */
  readonly issuedAt: number
}

/** @throws CountersignError UNUSABLE_KEY */
export async function rotateRequest(
  holder: KeyHolder,
  next: Signer,
  self: AgentObject,
): Promise<RotateRequest> {
  assertOwn(holder, self)
  const { issuedAt, publicKey: oldKey } = holder
  const sequence = self.keySequence + 1
  const newKey = next.publicKey
  const message = messageOf(holder, { operation: 'rotate', sequence, oldKey, newKey })
  const oldSignature = await holder.sign(message)
  const newSignature = await signatureBy(next, message)
  return { newPublicKey: encodeBase64(newKey), sequence, issuedAt, oldSignature, newSignature }
}

/** A redemption by the holder of the new key. */
export async function recoverRequest(
  holder: KeyHolder,
  recoveryToken: string,
  self: AgentObject,
): Promise<RecoverRequest> {
  const { issuedAt, publicKey: newKey } = holder
  const publicKey = encodeBase64(newKey)
  // The recovery may have taken effect already.
  const sequence = self.publicKey === publicKey ? self.keySequence : self.keySequence + 1
  const operation = { operation: 'recover', sequence, oldKey: null, newKey, recoveryToken } as const
  const signature = await holder.sign(messageOf(holder, operation))
  return { recoveryToken, publicKey, sequence, issuedAt, signature }
}

/** An operation without a new key. @throws CountersignError UNUSABLE_KEY */
export async function endRequest(
  holder: KeyHolder,
  operation: 'veto' | 'renounce' | 'end-delegations',
  self: AgentObject,
): Promise<VetoRequest> {
  assertOwn(holder, self)
  const { issuedAt, publicKey: oldKey } = holder
  const sequence = self.keySequence
  const message = messageOf(holder, { operation, sequence, oldKey, newKey: null })
  return { sequence, issuedAt, signature: await holder.sign(message) }
}

/** @param keys of the agent. @throws CountersignError UNUSABLE_KEY */
export async function reportRequest(
  holder: KeyHolder,
  { keys }: Pick<AgentKeys, 'keys'>,
): Promise<KeyReport> {
  const { issuedAt, publicKey: oldKey, did } = holder
  const thumbprint = keyThumbprint(oldKey)
  const reported = keys.findLast((key) => key.keyThumbprint === thumbprint)
  if (reported === undefined) {
    throw new CountersignError('UNUSABLE_KEY', `${did} has never had the key of this agent.`)
  }
  const { sequence } = reported
  const operation = { operation: 'compromised', sequence, oldKey, newKey: null } as const
  return { sequence, issuedAt, signature: await holder.sign(messageOf(holder, operation)) }
}

function messageOf(
  { naming, service, did, issuedAt }: KeyHolder,
  operation: Omit<KeyOperation, 'service' | 'did' | 'issuedAt'>,
): Uint8Array {
  return keyOperationMessage(naming, { service, did, issuedAt, ...operation })
}

function assertOwn({ publicKey }: KeyHolder, self: AgentObject): void {
  if (self.publicKey === encodeBase64(publicKey)) return
  throw new CountersignError('UNUSABLE_KEY', `${self.did} has another key than this agent.`)
}

async function signatureBy(signer: Signer, message: Uint8Array): Promise<string> {
  const signature = await signer.sign(message)
  if (await isSignature(signer.publicKey, message, signature)) return encodeBase64(signature)
  const wrong = 'The signature of the new key is not one by its public key.'
  throw new CountersignError('UNUSABLE_KEY', wrong)
}
