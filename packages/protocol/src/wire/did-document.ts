import { type Static, Type } from 'typebox'
import { publicKey } from './formats.ts'

const service = () =>
  Type.Array(
    Type.Object({ id: Type.String(), type: Type.String(), serviceEndpoint: Type.String() }),
  )

/** Contract 4.7 with `Accept: application/did+json`. */
export const didDocumentSchema = () =>
  Type.Object(
    {
      '@context': Type.Array(Type.String()),
      id: Type.String({ pattern: '^did:web:' }),
      controller: Type.String(),
      verificationMethod: Type.Array(
        Type.Object({
          id: Type.String(),
          type: Type.Literal('Ed25519VerificationKey2020'),
          controller: Type.String(),
          publicKeyBase64: publicKey(),
        }),
      ),
      authentication: Type.Array(Type.String()),
      service: service(),
    },
    { description: "The agent's DID document, in the contract's form" },
  )

export type DidDocument = Static<ReturnType<typeof didDocumentSchema>>

/** The `did.json` for did:web resolvers, with the key as Multikey and as JsonWebKey, since resolvers differ in what they read. */
export const resolvableDidDocumentSchema = () =>
  Type.Object(
    {
      '@context': Type.Array(Type.String()),
      id: Type.String({ pattern: '^did:web:' }),
      controller: Type.String(),
      verificationMethod: Type.Array(
        Type.Object({
          id: Type.String(),
          type: Type.String(),
          controller: Type.String(),
          publicKeyMultibase: Type.Optional(Type.String()),
          publicKeyJwk: Type.Optional(
            Type.Object({ kty: Type.String(), crv: Type.String(), x: Type.String() }),
          ),
        }),
      ),
      authentication: Type.Array(Type.String()),
      assertionMethod: Type.Array(Type.String()),
      service: service(),
    },
    { description: "The agent's DID document, for did:web resolvers" },
  )

export type ResolvableDidDocument = Static<ReturnType<typeof resolvableDidDocumentSchema>>
