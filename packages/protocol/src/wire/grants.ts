import { type Static, Type } from 'typebox'
import type { Naming } from '../naming.ts'
import {
  JWT_BEARER_GRANT,
  MAX_AUTHORIZATION_SERVERS,
  MAX_GRANT_ISSUERS,
  MAX_GRANT_URL_LENGTH,
} from '../oauth-grant.ts'
import { did, timestamp } from './formats.ts'
import { displayName } from './names.ts'
import { nullable } from './nullable.ts'

/** Grants for authorization servers, and the issuers that sign them. */

const url = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_GRANT_URL_LENGTH, description })

/** `POST /api/v1/agent/{agent}/grant` */
export const grantRequestSchema = () =>
  Type.Object(
    {
      audience: url('the issuer identifier of the authorization server, as its metadata has it'),
      tokenEndpoint: url('its token endpoint, as its metadata has it'),
      resource: Type.Optional(
        url('the resource to access (RFC 8707), which becomes the claim resource'),
      ),
    },
    { additionalProperties: false },
  )

/** A request for a grant. */
export type GrantRequest = Static<ReturnType<typeof grantRequestSchema>>

export const grantSchema = () =>
  Type.Object(
    {
      assertion: Type.String({
        description: 'the grant, a JWT: the parameter assertion of the token request (RFC 7523)',
      }),
      grantType: Type.Literal(JWT_BEARER_GRANT, {
        description: 'the parameter grant_type of the token request',
      }),
      issuer: Type.String({ description: 'the claim iss, which the authorization server trusts' }),
      expiresAt: timestamp(),
    },
    { description: 'A grant. Anyone who has it can redeem it, so send it to that server only' },
  )

/** A grant for an authorization server. */
export type Grant = Static<ReturnType<typeof grantSchema>>

export const grantIssuerSchema = () =>
  Type.Object(
    {
      id: Type.String({ description: 'random, the end of its URL' }),
      issuer: Type.String({ description: 'its URL, which authorization servers register' }),
      name: Type.String({ description: 'your own label; never published' }),
      createdAt: timestamp(),
      agents: Type.Integer({ minimum: 0, description: 'how many agents are assigned to it' }),
    },
    { description: 'A grant issuer' },
  )

/** A grant issuer as its owner sees it. */
export type GrantIssuer = Static<ReturnType<typeof grantIssuerSchema>>

/** `GET /api/account/grant-issuers` */
export const grantIssuersSchema = () =>
  Type.Object(
    {
      issuers: Type.Array(grantIssuerSchema(), {
        maxItems: MAX_GRANT_ISSUERS,
        description: 'newest first',
      }),
    },
    { description: 'The grant issuers of the owner' },
  )

/** The grant issuers of an owner. */
export type GrantIssuers = Static<ReturnType<typeof grantIssuersSchema>>

/** `POST /api/account/grant-issuers` */
export const newGrantIssuerSchema = () =>
  Type.Object({ name: displayName() }, { additionalProperties: false })

/** A grant issuer to create. */
export type NewGrantIssuer = Static<ReturnType<typeof newGrantIssuerSchema>>

/** `GET /api/account/agents/{agent}/grants` */
export const agentGrantsSchema = () =>
  Type.Object(
    {
      issuer: nullable(grantIssuerSchema()),
      authorizationServers: Type.Array(
        Type.Object({
          audience: Type.String({ description: 'the issuer identifier of the server' }),
          firstAt: timestamp(),
          lastAt: timestamp(),
          grants: Type.Integer({ minimum: 1, description: 'how many grants it got' }),
        }),
        {
          maxItems: MAX_AUTHORIZATION_SERVERS,
          description: 'for which the agent got grants, the last used first',
        },
      ),
    },
    { description: 'The grant issuer of an agent; null: it gets no grants' },
  )

/** What an agent can get grants from, and has got grants for. */
export type AgentGrants = Static<ReturnType<typeof agentGrantsSchema>>

/** `PUT /api/account/agents/{agent}/grant-issuer` */
export const grantAssignmentSchema = () =>
  Type.Object(
    {
      issuer: nullable(
        Type.String({ description: 'the id of a grant issuer; null: the agent gets no grants' }),
      ),
    },
    { additionalProperties: false },
  )

/** Which issuer signs the grants of an agent. */
export type GrantAssignment = Static<ReturnType<typeof grantAssignmentSchema>>

/** Grant issuers in the export of an account. */
export const exportedGrantIssuersSchema = (naming: Naming) =>
  Type.Array(
    Type.Object({
      ...grantIssuerSchema().properties,
      assigned: Type.Array(did(naming), { description: 'the agents whose grants it signs' }),
    }),
  )

/** `GET {issuer}/.well-known/openid-configuration` */
export const grantIssuerMetadataSchema = () =>
  Type.Object(
    {
      issuer: Type.String(),
      jwks_uri: Type.String({ description: 'the address of its key set' }),
      response_types_supported: Type.Array(Type.String()),
      grant_types_supported: Type.Array(Type.String(), {
        description: 'empty: it issues no access tokens',
      }),
      subject_types_supported: Type.Array(Type.String()),
      id_token_signing_alg_values_supported: Type.Array(Type.String()),
      claims_supported: Type.Array(Type.String()),
    },
    { description: 'The metadata of a grant issuer' },
  )

const coordinate = () => Type.String({ description: '32 bytes in base64url' })

const grantJwk = () =>
  Type.Object({
    kty: Type.Literal('EC'),
    crv: Type.Literal('P-256'),
    x: coordinate(),
    y: coordinate(),
    kid: Type.String({ description: 'the JWK thumbprint of the key (RFC 7638)' }),
    use: Type.Literal('sig'),
    alg: Type.Literal('ES256'),
  })

/** A public key of a grant issuer. */
export type GrantJwk = Static<ReturnType<typeof grantJwk>>

/** `GET {issuer}/jwks.json` */
export const grantKeySetSchema = () =>
  Type.Object(
    { keys: Type.Array(grantJwk()) },
    { description: 'The keys of a grant issuer; empty once it is deleted' },
  )

/** The key set of a grant issuer. */
export type GrantKeySet = Static<ReturnType<typeof grantKeySetSchema>>
