import { type Static, Type } from 'typebox'
import { APPROVED_BY, MAX_APPROVAL_SECONDS } from '../approvals/read-token.ts'
import { MAX_DELEGATION_SECONDS, MAX_HOPS } from '../delegation/format.ts'
import { SIGNATURE_REASONS } from '../http-signatures/signature-verdict.ts'
import type {
  DelegationFault,
  SignatureReason,
  SignatureVerdict,
} from '../http-signatures/signed-request-types.ts'
import type { Naming } from '../naming.ts'
import { did, timestamp } from './formats.ts'
import { thumbprint } from './key-set.ts'
import { nullable } from './nullable.ts'

/** Which chains of delegations a site accepts. */
const delegationPolicy = () =>
  Type.Object(
    {
      maxDepth: Type.Integer({ minimum: 1, maximum: MAX_HOPS, description: 'the most hops' }),
      maxSeconds: Type.Integer({
        minimum: 1,
        maximum: MAX_DELEGATION_SECONDS,
        description: 'the longest duration of the first hop',
      }),
      mcp: Type.Boolean({
        description:
          'accept limits on Mcp-Method and Mcp-Name: only if your server compares them with the body',
      }),
    },
    {
      additionalProperties: false,
      description: 'which chains of delegations you accept. Left out: none',
    },
  )

/** Which approvals a site requires. */
const approvalPolicy = () =>
  Type.Object(
    {
      maxAgeSeconds: Type.Optional(
        Type.Integer({
          minimum: 60,
          maximum: MAX_APPROVAL_SECONDS,
          description: 'how long ago the decision may be, default 600',
        }),
      ),
      by: Type.Optional(
        Type.Array(Type.Enum([...APPROVED_BY], { type: 'string' }), {
          minItems: 1,
          maxItems: APPROVED_BY.length,
          description: 'what may have approved, default passkey only',
        }),
      ),
    },
    {
      additionalProperties: false,
      description:
        'the approval by its owner that the request needs. Record its useKey, so that it admits one request. Left out: none',
    },
  )
/** The parts of a request as a site has received it. @param headers says which header fields are needed */
export const receivedRequest = (headers: string) => ({
  method: Type.String({
    pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$",
    description: 'the method as received, such as GET',
  }),
  url: Type.String({
    pattern: '^https?://',
    maxLength: 8192,
    description:
      'the scheme and the host at which the request was received, and path and query exactly as received',
  }),
  headers: Type.Array(
    Type.Array(Type.String(), {
      minItems: 2,
      maxItems: 2,
      description: 'name and value of a header field',
    }),
    { maxItems: 200, description: headers },
  ),
})

/** A request that a site has received, for `POST /api/v1/verify-request`. */
export const signedRequestSchema = () =>
  Type.Object(
    {
      ...receivedRequest(
        'all header fields as received, one entry for each line, repeated ones too',
      ),
      audience: Type.String({
        minLength: 1,
        maxLength: 300,
        description:
          'your origin, such as https://shop.example, from your settings. Never take it from the request',
      }),
      delegation: Type.Optional(delegationPolicy()),
      approval: Type.Optional(approvalPolicy()),
    },
    { additionalProperties: false },
  )

export type SignedRequest = Static<ReturnType<typeof signedRequestSchema>>

const VERDICTS: readonly SignatureVerdict[] = ['verified', 'invalid', 'unverified']
const REASONS = Object.keys(SIGNATURE_REASONS) as SignatureReason[]

const FAULTS: readonly DelegationFault[] = [
  'format',
  'key',
  'depth',
  'times',
  'widened',
  'binding',
  'root',
  'signature',
]

const values = (description: string) => Type.Array(Type.String(), { description })

const hop = () =>
  Type.Object({
    keyid: thumbprint('the JWK thumbprint of the key that it is for'),
    issuedAt: timestamp(),
    expiresAt: timestamp(),
    maxDepth: Type.Integer({
      minimum: 0,
      maximum: MAX_HOPS,
      description: 'how many hops may follow',
    }),
    limits: Type.Object({
      origins: values('the sites to which requests may be sent'),
      methods: nullable(values('null: every method')),
      paths: nullable(values('null: every path')),
      mcp: nullable(values('calls of MCP. null: not limited')),
    }),
  })

const delegation = () =>
  Type.Object(
    {
      depth: Type.Integer({ minimum: 0, maximum: MAX_HOPS, description: 'the number of hops' }),
      keyid: nullable(thumbprint('the key of the delegate. null: the chain could not be read')),
      fault: Type.Unsafe<DelegationFault | null>({
        type: ['string', 'null'],
        enum: [...FAULTS, null],
        description: 'the check that the chain fails, with the reason delegation-invalid',
      }),
      hops: Type.Array(hop(), { description: 'from the agent to the delegate' }),
    },
    {
      description:
        'the chain of delegations of the request, as far as it was read. Proven only with verified. null: it has none',
    },
  )

const approval = () =>
  Type.Object(
    {
      id: Type.String({ description: 'the id of the approval' }),
      by: Type.Enum([...APPROVED_BY], {
        type: 'string',
        description: 'the owner with a passkey, or the service by a mandate of the owner',
      }),
      at: { ...timestamp(), description: 'when it was decided' },
      expiresAt: timestamp(),
      useKey: Type.String({
        description:
          'the same for each request with this approval: refuse the request if you have stored it before',
      }),
      useUntil: { ...timestamp(), description: 'until when to store useKey' },
    },
    {
      description:
        'the approval of exactly this request, if you require one and it is verified. null: reason says why',
    },
  )

/** The verdict on a signed request. */
export const signedRequestVerdictSchema = (naming: Naming) =>
  Type.Object(
    {
      verdict: Type.Enum([...VERDICTS], {
        type: 'string',
        description: 'verified: the agent holds its key, and its certificate is active',
      }),
      reason: Type.Unsafe<SignatureReason | null>({
        type: ['string', 'null'],
        enum: [...REASONS, null],
        description: 'null if it is verified',
      }),
      [naming.didField]: nullable(did(naming)),
      keyid: nullable(
        Type.String({
          pattern: '^[A-Za-z0-9_-]{43}$',
          description: 'the JWK thumbprint that the signature names',
        }),
      ),
      replay: Type.Literal('unchecked', {
        description: 'the service does not record nonces: store replayKey yourself',
      }),
      replayKey: nullable(
        Type.String({
          description:
            'the same for each copy of the request: refuse it if you have stored it before. null unless verified',
        }),
      ),
      replayUntil: nullable(timestamp()),
      digest: Type.Enum(['unchecked', 'none'], {
        type: 'string',
        description:
          'unchecked: compare the body with Content-Digest, which is covered if verified. none: nothing covers a body',
      }),
      delegation: nullable(delegation()),
      approval: nullable(approval()),
    },
    { description: "The result of verifying the request's signature" },
  )

export type SignedRequestVerdict = Static<ReturnType<typeof signedRequestVerdictSchema>>
