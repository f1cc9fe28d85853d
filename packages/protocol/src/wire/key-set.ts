import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import { did, status, timestamp } from './formats.ts'

/** The media type of a key set that verifiers of HTTP Message Signatures fetch (draft-meunier-http-message-signatures-directory). */
export const KEY_SET_TYPE = 'application/http-message-signatures-directory+json'

/** A JWK thumbprint (RFC 7638, SHA-256). */
export const thumbprint = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description })

const publicJwk = () =>
  Type.Object({
    kty: Type.Literal('OKP'),
    crv: Type.Literal('Ed25519'),
    x: Type.String({
      pattern: '^[A-Za-z0-9_-]{43}$',
      description: 'the public key: 32 bytes in base64url',
    }),
    kid: thumbprint('the JWK thumbprint of the key (RFC 7638)'),
    use: Type.Literal('sig'),
  })

/** A public key of Ed25519 as key sets have it (RFC 7517, RFC 8037). */
export type PublicJwk = Static<ReturnType<typeof publicJwk>>

/** A JSON Web Key Set (RFC 7517) of the keys with which an agent signs requests. */
export const keySetSchema = (
  description = 'The key of an active agent; empty if it is suspended or revoked',
) => Type.Object({ keys: Type.Array(publicJwk()) }, { description })

export type KeySet = Static<ReturnType<typeof keySetSchema>>

/** `GET /api/v1/keys/{thumbprint}` */
export const keyHoldersSchema = (naming: Naming) =>
  Type.Object(
    {
      keyid: thumbprint('the JWK thumbprint of the key (RFC 7638)'),
      jwk: publicJwk(),
      agents: Type.Array(
        Type.Object({
          [naming.didField]: did(naming),
          status: status(),
          claimedAt: timestamp(),
        }),
        {
          minItems: 1,
          maxItems: 100,
          description: 'agents whose current key it is and that are not revoked, active ones first',
        },
      ),
    },
    { description: 'A key, and the agents that have it' },
  )

export type KeyHolders = Static<ReturnType<typeof keyHoldersSchema>>
