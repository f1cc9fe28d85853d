import { type TUnsafe, Type } from 'typebox'
import { KEY_PATTERN, SIGNATURE_PATTERN } from '../encoding.ts'
import type { Tier } from '../grade.ts'
import type { Naming } from '../naming.ts'
import { AGENT_STATUSES } from '../status.ts'

/** The scalar formats of the contract. The descriptions complete "… must be". */
export const timestamp = () =>
  Type.String({ format: 'date-time', description: 'an ISO 8601 timestamp in UTC' })

export const did = (naming: Naming) =>
  Type.String({
    pattern: naming.didPattern.source,
    description: `a DID: ${naming.didPrefix} and 24 base58 characters`,
  })

export const publicKey = () =>
  Type.String({
    pattern: KEY_PATTERN.source,
    description: 'an Ed25519 public key: 32 bytes in padded standard base64, 44 characters',
  })

export const signature = () =>
  Type.String({
    pattern: SIGNATURE_PATTERN.source,
    description: 'an Ed25519 signature: 64 bytes in padded standard base64, 88 characters',
  })

/** A number among the keys of an agent. */
export const keySequence = (description: string) =>
  Type.Integer({ minimum: 1, maximum: 2_147_483_647, description })

/** When a key operation was signed. */
export const issuedAt = () =>
  Type.Integer({
    minimum: 0,
    maximum: 9_999_999_999,
    description: 'when it was signed, in Unix seconds; at most 5 minutes off',
  })

export const keyThumbprint = (description = 'RFC 7638, SHA-256, base64url') =>
  Type.String({ description })

export const status = () => Type.Enum([...AGENT_STATUSES], { type: 'string' })

/** The tier of a channel: 2 for a domain or an agent-to-agent endpoint, 1 for a chat or a runtime (contract 2.4). */
export const tier = (options: { readonly description?: string } = {}) =>
  Type.Unsafe<Tier>(Type.Integer({ minimum: 1, maximum: 2, ...options })) as TUnsafe<Tier> & {
    type: 'integer'
  }
