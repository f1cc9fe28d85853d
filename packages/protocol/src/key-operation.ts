import { utf8 } from './encoding.ts'
import type { Naming } from './naming.ts'
import { keyThumbprint } from './public-key.ts'

/** How far the `issuedAt` of a key operation may be from the time of the service, in seconds. */
export const KEY_OPERATION_TOLERANCE_SECONDS = 300

/** For how long after a rotation the owner can contest it. */
export const CONTEST_WINDOW_MS = 72 * 60 * 60 * 1000

/** How long after an agent has renounced its certificate it is revoked, if nothing stops that. */
export const RENOUNCE_DELAY_MS = 72 * 60 * 60 * 1000

/**
 * What a key can sign about itself: to be replaced, to replace a lost one, to stop that, to give up its certificate, that somebody
 * else has it, to end all that it has delegated.
 */
export type KeyOperationKind =
  | 'rotate'
  | 'recover'
  | 'veto'
  | 'renounce'
  | 'compromised'
  | 'end-delegations'

/** An operation on the keys of an agent, as it is signed. */
export interface KeyOperation {
  readonly operation: KeyOperationKind
  /** The origin of the service, such as `https://id.example`. */
  readonly service: string
  readonly did: string
  /**
   * A number among the agent's keys, from 1: of the new key for `rotate` and `recover`, of the key that signs for `compromised`,
   * of the current key for the others.
   */
  readonly sequence: number
  /** The current key, 32 bytes; for `compromised` the key that signs; null for `recover`, since it may be lost. */
  readonly oldKey: Uint8Array | null
  /** The new key, 32 bytes; null except for `rotate` and `recover`. */
  readonly newKey: Uint8Array | null
  /** Unix seconds. */
  readonly issuedAt: number
  /** For `recover` only. */
  readonly recoveryToken?: string
}

/**
 * The bytes that an agent signs for an operation on its keys: 0xFF, then as UTF-8, separated by line feeds,
 * `svc-<operation>-v1`, the service, the DID, the sequence number, the thumbprints (RFC 7638) of the old and of the new key,
 * `-` for none, the time, and for `recover` the recovery token.
 */
export function keyOperationMessage(naming: Naming, signed: KeyOperation): Uint8Array {
  const { operation, service, did, sequence, oldKey, newKey, issuedAt, recoveryToken } = signed
  const name = `${naming.shortName}-${operation}-v1`
  const lines = [name, service, did, sequence, thumbprintOf(oldKey), thumbprintOf(newKey), issuedAt]
  return markedMessage([...lines, ...(recoveryToken === undefined ? [] : [recoveryToken])])
}

function thumbprintOf(key: Uint8Array | null): string {
  return key === null ? '-' : keyThumbprint(key)
}

/**
 * Bytes that a key signs about itself: 0xFF, then the lines as UTF-8, separated by line feeds. A site chooses what an agent signs as a
 * challenge. 0xFF never occurs in UTF-8, so no challenge, claim or signature base of RFC 9421 can be these bytes.
 */
export function markedMessage(lines: readonly (string | number)[]): Uint8Array {
  const text = utf8(lines.join('\n'))
  const message = new Uint8Array(1 + text.length)
  message[0] = 0xff
  message.set(text, 1)
  return message
}
