import type { Naming } from './naming.ts'
import { keyThumbprint } from './public-key.ts'
import { utf8 } from './text.ts'

/** How far the `issuedAt` of a key operation may be from the time of the service, in seconds. */
export const KEY_OPERATION_TOLERANCE_SECONDS = 300

/** What an agent signs to give up its certificate. */
export interface Renunciation {
  /** The origin of the service, such as `https://id.example`. */
  readonly service: string
  readonly did: string
  /** The number of the current key among the agent's keys, from 1. */
  readonly sequence: number
  /** The current key, 32 bytes. */
  readonly publicKey: Uint8Array
  /** Unix seconds. */
  readonly issuedAt: number
}

/**
 * The bytes that an agent signs to renounce its certificate: 0xFF, then as UTF-8, separated by line feeds,
 * `svc-renounce-v1`, the service, the DID, the sequence number, the key's thumbprint, `-` for no new key, and the time.
 * A site chooses what an agent signs as a challenge. 0xFF never occurs in UTF-8, so no challenge, claim or signature base of
 * RFC 9421 can be these bytes.
 */
export function renounceMessage(naming: Naming, renunciation: Renunciation): Uint8Array {
  const { service, did, sequence, publicKey, issuedAt } = renunciation
  const operation = `${naming.shortName}-renounce-v1`
  const lines = [operation, service, did, sequence, keyThumbprint(publicKey), '-', issuedAt]
  const text = utf8(lines.join('\n'))
  const message = new Uint8Array(1 + text.length)
  message[0] = 0xff
  message.set(text, 1)
  return message
}
