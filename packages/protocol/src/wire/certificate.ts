import { type Static, Type } from 'typebox'
import { STATUS_LIST_LENGTH } from '../certificates/status-list.ts'
import { MAX_HOPS } from '../delegation/format.ts'
import type { Naming } from '../naming.ts'
import { did, keySequence, status, timestamp } from './formats.ts'
import { thumbprint } from './key-set.ts'
import { nullable } from './nullable.ts'

const coordinate = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description })

const okp = () =>
  Type.Object({
    kty: Type.Literal('OKP'),
    crv: Type.Literal('Ed25519'),
    x: coordinate('the public key: 32 bytes in base64url'),
    kid: thumbprint('the JWK thumbprint of the key (RFC 7638)'),
    use: Type.Literal('sig'),
  })

const ec = () =>
  Type.Object({
    kty: Type.Literal('EC'),
    crv: Type.Literal('P-256'),
    x: coordinate('32 bytes in base64url'),
    y: coordinate('32 bytes in base64url'),
    kid: thumbprint('the JWK thumbprint of the key (RFC 7638)'),
    use: Type.Literal('sig'),
  })

/** A public key of an issuer. Without `alg`, because PyJWT skips a JWK with `alg: "Ed25519"`: the algorithm follows from the type of key. */
export const issuerJwk = () => Type.Union([okp(), ec()])
export type IssuerJwk = Static<ReturnType<typeof issuerJwk>>

/** `GET /.well-known/jwks.json` */
export const issuerKeySetSchema = () =>
  Type.Object(
    { keys: Type.Array(issuerJwk()) },
    { description: 'The keys that sign certificates, status lists and the feed' },
  )
export type IssuerKeySet = Static<ReturnType<typeof issuerKeySetSchema>>

const grade = () => Type.Enum(['A', 'B', 'C', 'D', 'E'], { type: 'string' })

const assurance = () =>
  Type.Unsafe<'low' | 'substantial' | 'high' | null>({
    type: ['string', 'null'],
    enum: ['low', 'substantial', 'high', null],
    description: 'how thoroughly the provider verified the owner; null if it did not',
  })

const seconds = (description: string) => Type.Integer({ minimum: 0, description })

/** An agent's key as `cnf.jwk` has it (RFC 7800). */
const confirmationJwk = () =>
  Type.Object({
    kty: Type.Literal('OKP'),
    crv: Type.Literal('Ed25519'),
    x: coordinate('the public key: 32 bytes in base64url'),
  })

const loggedKey = () =>
  Type.Object(
    {
      origin: Type.String({ description: 'the name of the log' }),
      index: Type.Integer({ minimum: 0, description: 'of the entry of the key' }),
    },
    {
      description:
        'where the key is in the transparency log; left out while it is not under a checkpoint',
    },
  )

/** The claims of a certificate. No text that an owner or agent wrote is in it. */
export const certificateClaimsSchema = (naming: Naming) =>
  Type.Object(
    {
      iss: Type.String({ description: 'the origin of the service' }),
      sub: did(naming),
      iat: seconds('Unix seconds: the time up to which the service knew its data'),
      exp: seconds('Unix seconds'),
      jti: Type.String({ description: 'unique' }),
      vct: Type.String({ description: 'the address of the type’s metadata' }),
      cnf: Type.Object({ jwk: confirmationJwk() }),
      status: Type.Object({
        status_list: Type.Object({
          uri: Type.String({ description: 'the address of the status list' }),
          idx: Type.Integer({ minimum: 0, description: 'the entry in it' }),
        }),
      }),
      identityMethod: nullable(Type.String({ description: 'as in a lookup' })),
      identityLevel: Type.Enum(['verified', 'unverified'], { type: 'string' }),
      assurance: assurance(),
      grade: grade(),
      policyVersion: Type.Integer({ description: 'of the rules for the grade' }),
      keySequence: keySequence('the number of the key among the agent’s keys'),
      keyChangedAt: timestamp(),
      ownerChangedAt: Type.Optional({
        ...timestamp(),
        description: 'when the agent last moved to another owner; left out if it never did',
      }),
      did_web: Type.String({ description: 'the same agent as a did:web' }),
      maxDelegationDepth: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: MAX_HOPS,
          description: 'how many hops a chain may have; left out if the agent may not delegate',
        }),
      ),
      log: Type.Optional(loggedKey()),
    },
    { description: 'The claims of a certificate' },
  )
export type CertificateClaims = Static<ReturnType<typeof certificateClaimsSchema>>

const epoch = () =>
  Type.String({ description: 'changes if events were lost, after a restore or failover' })
const changeNumber = (description: string) => Type.Integer({ minimum: 0, description })

/** The place in the feed that a statement about an entry is of, or newer. */
export const feedPosition = () =>
  Type.Object(
    { epoch: epoch(), n: changeNumber('the number of the newest change that is in it') },
    { description: 'the place in the feed that the status is of, or newer' },
  )
export type FeedPosition = Static<ReturnType<typeof feedPosition>>

/** The claims of a staple: an agent's status, for 15 minutes. */
export const stapleClaimsSchema = (naming: Naming) =>
  Type.Object(
    {
      iss: Type.String({ description: 'the origin of the service' }),
      sub: did(naming),
      cnf: Type.Object({ jkt: thumbprint('the JWK thumbprint of the agent’s key') }),
      agentStatus: status(),
      grade: grade(),
      feed: Type.Optional(feedPosition()),
      iat: seconds('Unix seconds'),
      exp: seconds('Unix seconds'),
    },
    { description: 'The claims of a staple' },
  )
export type StapleClaims = Static<ReturnType<typeof stapleClaimsSchema>>

/** SHA-256 over all changes of the epoch, in order (docs/status.md). */
const chain = () =>
  Type.String({
    pattern: '^[A-Za-z0-9_-]{43}$',
    description: 'SHA-256 over all changes up to n, base64url',
  })

/** What heads and the manifests of snapshots state about a place in the feed. */
export const positionClaims = () => ({
  epoch: epoch(),
  n: changeNumber('of the newest change; 0: there was none in this epoch'),
  chain: chain(),
  asOf: seconds('milliseconds since 1970: the time up to which the service knew its data'),
})

/** The claims of a signed head of the feed. */
export const feedHeadClaimsSchema = () =>
  Type.Object(
    {
      iss: Type.String({ description: 'the origin of the service' }),
      iat: seconds('Unix seconds'),
      exp: seconds('Unix seconds'),
      ...positionClaims(),
      mark: Type.String({
        pattern: '^[A-Za-z0-9_-]{70}$',
        description: 'sealed for the service, which notices with it that it has lost events',
      }),
    },
    { description: 'The claims of a signed head of the feed' },
  )
export type FeedHeadClaims = Static<ReturnType<typeof feedHeadClaimsSchema>>

/** A line of the feed: an entry of a status list that has changed. */
export const feedChangeSchema = () =>
  Type.Object({
    n: Type.Integer({
      minimum: 1,
      description: 'the number of the change: from 1 in each epoch, without gaps',
    }),
    list: Type.Integer({ minimum: 0, description: 'the number of the status list' }),
    idx: Type.Integer({
      minimum: 0,
      maximum: STATUS_LIST_LENGTH - 1,
      description: 'the entry in it',
    }),
    status: Type.Enum([0, 1, 2], {
      type: 'integer',
      description: '0 valid, 1 invalid, 2 suspended',
    }),
  })
export type FeedChange = Static<ReturnType<typeof feedChangeSchema>>
