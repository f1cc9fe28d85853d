import { type Static, Type } from 'typebox'

/** The media type of a key set that verifiers of HTTP Message Signatures fetch (draft-meunier-http-message-signatures-directory). */
export const KEY_SET_TYPE = 'application/http-message-signatures-directory+json'

/** A JSON Web Key Set (RFC 7517) of the keys with which an agent signs requests. */
export const keySetSchema = () =>
  Type.Object(
    {
      keys: Type.Array(
        Type.Object({
          kty: Type.Literal('OKP'),
          crv: Type.Literal('Ed25519'),
          x: Type.String({
            pattern: '^[A-Za-z0-9_-]{43}$',
            description: 'the public key: 32 bytes in base64url',
          }),
          kid: Type.String({
            pattern: '^[A-Za-z0-9_-]{43}$',
            description: 'the JWK thumbprint of the key (RFC 7638)',
          }),
          use: Type.Literal('sig'),
        }),
      ),
    },
    { description: 'The key of an active agent; empty if it is suspended or revoked' },
  )

export type KeySet = Static<ReturnType<typeof keySetSchema>>
