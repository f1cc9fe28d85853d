import { Type } from 'typebox'
import { KEY_PATTERN, SIGNATURE_PATTERN } from '../base64.ts'
import type { Naming } from '../naming.ts'
import { AGENT_STATUSES } from '../status.ts'

/** The scalar formats of the contract, each written once. The descriptions complete "… must be". */
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

export const status = () => Type.Enum([...AGENT_STATUSES], { type: 'string' })
