import type { AgentStatus } from '../status.ts'

/**
 * The types of signed requests that sites see: the SDK publishes this file as it is, so that it needs nothing else of the protocol but
 * the statuses.
 */

/** Header field lines in their order. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

/** A request as it was received, before any framework has decoded, joined or normalized a part of it. */
export interface RawRequest {
  /** As sent, such as `GET`. */
  readonly method: string
  readonly scheme: 'http' | 'https'
  /** The `Host` header, or `:authority` in HTTP/2. */
  readonly authority: string
  /** The request target as sent: `/path?query`, or in absolute form `https://host/path?query`. */
  readonly target: string
  /** Every header field line, in its order. Names in any case. */
  readonly headers: HeaderList
  /** The bytes of the body; null if it is known to have none. Undefined: the body is not visible here. */
  readonly body?: Uint8Array | null | undefined
  /**
   * Whether there is content, if the body is not visible. Default: what `Content-Length` and `Transfer-Encoding` say. HTTP/2
   * requests may have content without either, so say it there.
   */
  readonly hasContent?: boolean | undefined
}

/**
 * The deployed forms of `Signature-Agent`.
 * `ietf`: `sig1="https://id.example/agent/…/jwks.json"`.
 * `legacy`: `"https://agent.example"`, as Cloudflare's verifier in production and OpenAI use it.
 * `origin`: `sig1="https://agent.example"`, with or without `;type=directory`, as Google uses it.
 * `ucp`: `sig1="https://agent.example/keys.json";type=jwks_uri`.
 * `cimd`: `sig1="https://agent.example/card";type=cimd`, the address of a Client ID Metadata Document.
 */
export type SignatureAgentDialect = 'ietf' | 'legacy' | 'origin' | 'ucp' | 'cimd'

/** Where the keys of a signer are published. */
export interface SignatureAgent {
  readonly dialect: SignatureAgentDialect
  /** An https address, on loopback also http. */
  readonly url: string
}

/** Which key a signature names. Look it up by both members: the same key may be published in several places. */
export interface KeyReference {
  readonly signatureAgent: SignatureAgent
  /** A JWK thumbprint (RFC 7638): base64url, 43 characters. */
  readonly keyid: string
}

/** A key that was found. */
export interface SigningKey {
  /** 32 bytes. Do not change them afterwards. */
  readonly publicKey: Uint8Array
  /** The agent, if a Countersign issuer vouches for the key. */
  readonly did: string | null
  /** That of its certificate; null without a DID. */
  readonly status: AgentStatus | null
}

/** Why a key was not found. */
export type KeyLookupFault = 'untrusted-agent' | 'unknown-key' | 'directory-unavailable'

/** Finds the key of a signature. If it throws, so does the verifier. */
export type KeyLookup = (
  reference: KeyReference,
) => SigningKey | KeyLookupFault | Promise<SigningKey | KeyLookupFault>

/** A verified key, as `admit` sees it. With a delegation, the key is that of the delegate, and DID and status are those of the agent. */
export interface ProvenKey extends SigningKey {
  readonly keyid: string
  readonly signatureAgent: SignatureAgent
  /** Null: the agent itself has signed. */
  readonly delegation: Delegation | null
}

/** What a delegation restricts requests to. Null: everything. */
export interface DelegationLimits {
  /** 1 to 8 canonical https origins, on loopback also http. */
  readonly origins: readonly string[]
  /** 1 to 8 methods. HEAD is not GET. */
  readonly methods: readonly string[] | null
  /** 1 to 8 paths of at most 128 characters: `/exact` or `/prefix/*`. */
  readonly paths: readonly string[] | null
  /** 1 to 16 values `<method>` or `<method> <name>` of the headers `Mcp-Method` and `Mcp-Name`. */
  readonly mcp: readonly string[] | null
}

/** One delegation: from the key before it to the next key. */
export interface DelegationHop {
  /** The JWK thumbprint of the next key: base64url, 43 characters. */
  readonly keyid: string
  /** In milliseconds since 1970. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** How many hops may follow: 0 to 3. */
  readonly maxDepth: number
  readonly limits: DelegationLimits
}

/**
 * Which check a chain fails, in the order of the checks. `format`: its form or a value. `key`: one that is faulty, occurs twice, or has not
 * signed the request. `depth`: more hops than were allowed. `times`: a hop that is not valid, or valid for too long. `widened`: limits that
 * those before do not cover. `binding`: a hop of another chain. `root`: the certificate. `signature`: that of a hop.
 */
export type DelegationFault =
  | 'format'
  | 'key'
  | 'depth'
  | 'times'
  | 'widened'
  | 'binding'
  | 'root'
  | 'signature'

/** A chain of delegations, as far as it was read. Proven only with `verified`. */
export interface Delegation {
  /** The number of `hops`. */
  readonly depth: number
  /** The JWK thumbprint of the last key, the delegate's; null if the chain could not be read. */
  readonly keyid: string | null
  /** With the reason `delegation-invalid`, else null. */
  readonly fault: DelegationFault | null
  /** From the agent to the delegate. */
  readonly hops: readonly DelegationHop[]
}

/** Which chains of delegations a verifier accepts. */
export interface DelegationPolicy {
  /** The most hops: 1 to 3. */
  readonly maxDepth: number
  /** The longest duration of the first hop, in seconds: 1 to 86,400. */
  readonly maxSeconds: number
  /**
   * Accept limits on `Mcp-Method` and `Mcp-Name`. Only true if the server compares these headers with the body (MCP 2026-07-28,
   * SEP-2243).
   */
  readonly mcp: boolean
}

/** Which approvals of requests a verifier accepts. */
export interface ApprovalPolicy {
  /** How long ago the decision may be, in seconds: 60 to 3,600. */
  readonly maxAgeSeconds: number
  /** The owner with a passkey, or the service by a standing mandate of the owner. */
  readonly by: readonly ('passkey' | 'mandate')[]
  /** Accept requests whose body the verifier has not seen. Only true if your application compares it with `Content-Digest`. */
  readonly bodyCheckedByApplication: boolean
}

/** That the owner of an agent has approved one request. It admits that request once. */
export interface Approval {
  /** `ap_…` */
  readonly id: string
  readonly by: 'passkey' | 'mandate'
  /** When it was decided, in milliseconds since 1970. */
  readonly at: number
  readonly expiresAt: number
}

/** An approval of the request that carries it, with what to record so that it admits the request once. */
export interface RequestApproval extends Approval {
  /** Refuse a request whose `useKey` you have stored before: base64url, 43 characters. */
  readonly useKey: string
  /** Until when to store it, in milliseconds since 1970. */
  readonly useUntil: number
}

/** The certificate at the root of a chain, which nobody has verified yet. */
export interface DelegationRoot {
  /** What the request names as the place of the agent's keys. */
  readonly signatureAgent: SignatureAgent
  /** In compact form, without `~`. */
  readonly certificate: string
  /** The DID that it names. */
  readonly did: string
  /** The JWK thumbprint of the agent's key in it. */
  readonly keyid: string
}

/**
 * Why a root does not count: `delegation-invalid`, the certificate is not one of this agent; `delegation-ended`, it was replaced or revoked,
 * or the agent has another key; else as for `KeyLookup`.
 */
export type RootFault = KeyLookupFault | 'delegation-invalid' | 'delegation-ended'

/**
 * Verifies the certificate at the root of a chain and its status. If it throws, so does the verifier.
 * @returns the key in the certificate, and DID and status of the agent
 */
export type RootLookup = (
  root: DelegationRoot,
) => SigningKey | RootFault | Promise<SigningKey | RootFault>

/** A nonce of a verified request, or an approval that a request uses up. */
export interface UsedNonce {
  /**
   * What takes the share of the store: a key by its JWK thumbprint, with a delegation that of the agent. For approvals it is the agent's DID,
   * which stays when the key changes.
   */
  readonly keyid: string
  /**
   * As it was signed: 22 to 128 characters of base64url; of a key in a directory with the profile `wba` any base64, at most 1,026. Absent
   * for approvals.
   */
  readonly nonce?: string | undefined
  /** What may occur once: SHA-256 of the key that has signed and the nonce, or of the approval. base64url, 43 characters. */
  readonly hash: string
  /** When the signature was made, by the signer's clock up to 30 seconds ahead, or the approval decided. In milliseconds since 1970. */
  readonly createdAt: number
  /**
   * Until when to remember it, in milliseconds since 1970: while it could be accepted. Of signatures at most 330 seconds after
   * `createdAt`, of approvals at most 3,630.
   */
  readonly expiresAt: number
}

/**
 * `fresh`: it was not used before. `used`: it was. `share-exceeded`: this key has used its share of the store. `unchecked`: the store
 * cannot tell.
 */
export type NonceOutcome = 'fresh' | 'used' | 'share-exceeded' | 'unchecked'

/** Stores the nonces of accepted requests. Every process that accepts requests for one audience must share it. */
export interface NonceStore {
  /**
   * Records a nonce atomically: of several requests with one nonce at the same moment, exactly one is told `fresh`. A store that
   * fails may throw; that counts as `unchecked`.
   */
  record(nonce: UsedNonce): NonceOutcome | Promise<NonceOutcome>
  /**
   * A nonce for a signer whose request could be older than the memory of the store: who signs with it has signed since the store
   * began. Each call returns another one of 44 base64url characters. Null: no signature can be too old for the store, or a nonce would
   * not help.
   */
  challenge?(): string | null
  /**
   * After `unchecked`: in how many seconds the store can check a new signature of the same signer.
   * @param createdAt of the signature, as in `UsedNonce`
   * @returns null if the store can never tell that a nonce was not used
   */
  retryAfterSeconds?(createdAt: number): number | null
}

/**
 * `verified`: the agent holds its key and its certificate is active. `invalid`: refuse the request. `unverified`: it could not
 * be decided, so the request proves nothing.
 */
export type SignatureVerdict = 'verified' | 'invalid' | 'unverified'

/**
 * `strict`: everything in the request that matters is covered. `wba`: requests that change no state may have signatures over the host
 * alone, without a nonce (Web Bot Auth drafts).
 */
export type SignatureProfile = 'strict' | 'wba'

/** Which signatures of a signer count. Whose key it is decides on them. */
export interface SignatureRules {
  readonly profile: SignatureProfile
  /** The longest time from `created` to `expires`, in seconds. */
  readonly maxLifetimeSeconds: number
}

/**
 * Why a signature is not verified: a closed list, in the order of the checks. For logs; callers that proved nothing get the status
 * alone.
 */
export type SignatureReason =
  /** Neither `Signature` nor `Signature-Input`. */
  | 'unsigned'
  /** A field over 8 KiB, over 4 signatures, or over 32 components. */
  | 'limits'
  /** Not exactly one signature for Web Bot Auth that can be read, or an ambiguous or missing header field. */
  | 'malformed'
  /** The verifier has no list of its own origins. */
  | 'no-audience'
  /** Several `Host` fields, or one that differs from the target or `:authority`. */
  | 'bad-host'
  /** Sent to another authority than those of the verifier. */
  | 'authority'
  /** Received over plain http, outside loopback. */
  | 'insecure'
  /** The path is not in its normalized form. */
  | 'bad-path'
  /** The signature does not cover what the profile requires for this request. */
  | 'components'
  /** `created` is more than 30 seconds ahead. */
  | 'not-yet-valid'
  /** `expires` is past. */
  | 'expired'
  /** `created` or `expires` is missing, or they are further apart than the signer may have them: agents 300 seconds. */
  | 'lifetime'
  /** The key is published in a standard, so everyone has it. */
  | 'test-key'
  /** The request has a chain of delegations, which the verifier does not accept, or not of this depth, duration or kind. */
  | 'delegation-refused'
  /** The chain does not count: `delegation.fault` says why. */
  | 'delegation-invalid'
  /** The last delegation has expired. */
  | 'delegation-expired'
  /** The certificate at the root of the chain was replaced or revoked, or the agent has ended its delegations. */
  | 'delegation-ended'
  /** Nobody vouches for the address in `Signature-Agent`. */
  | 'untrusted-agent'
  /** The address in `Signature-Agent` has no such key, or the agent has another one now. */
  | 'unknown-key'
  /** The keys could not be read. */
  | 'directory-unavailable'
  /** `alg` is not `ed25519`. */
  | 'algorithm'
  /** It is not the signature of this request by this key. */
  | 'bad-signature'
  /** The identification header names another agent, or is not covered. */
  | 'identification-mismatch'
  /** The certificate of the agent is suspended. */
  | 'suspended'
  /** The certificate of the agent is revoked. */
  | 'revoked'
  /** The request is outside the limits of the delegation. */
  | 'delegation-limit'
  /** The verifier accepts the request only with an approval of the agent's owner, given in a way that it accepts. */
  | 'approval-required'
  /** The approval is no token of the agent's service. */
  | 'approval-invalid'
  /** The approval is for another request or agent, or the body could not be compared. */
  | 'approval-mismatch'
  /** The approval has expired, or is older than the verifier accepts. */
  | 'approval-expired'
  /** The verifier's own policy does not admit the agent. */
  | 'not-admitted'
  /** The nonce is missing, or not 22 to 128 base64url characters; in the profile `wba`, not base64. */
  | 'nonce'
  /** The nonce was used before. */
  | 'replay'
  /** The key used more nonces than its share of the store. */
  | 'too-many-requests'
  /** A request that changes state, and the store cannot tell whether its nonce was used. Answer with its `challenge()`. */
  | 'replay-unchecked'
  /** `Content-Digest` is malformed, or not that of the body. */
  | 'digest'
  /** The approval was used before: it admits its request once. */
  | 'approval-used'
  /** The store cannot tell whether the approval was used. It never will: ask for another approval. */
  | 'approval-unchecked'

/**
 * The result of verifying the signature of a request. Decide by `verdict`.
 * @typeParam Did that of a verified signer: `string` if only agents of a service count, else also null, for keys of other directories
 */
export type SignatureResult<Did extends string | null = string | null> =
  | VerifiedResult<Did>
  | UnverifiedResult

/** Of a request whose signer holds the key. */
export interface VerifiedResult<Did extends string | null = string | null>
  extends SignatureDetails {
  readonly verdict: 'verified'
  readonly reason: null
  readonly status: 200
  /** The agent; null for keys without a DID. */
  readonly did: Did
}

/** Of a request that proves nothing. */
export interface UnverifiedResult extends SignatureDetails {
  readonly verdict: Exclude<SignatureVerdict, 'verified'>
  readonly reason: SignatureReason
  /** The HTTP status for a request that needs proof: 429 and 503 come with `Retry-After`. */
  readonly status: 400 | 401 | 403 | 429 | 503
  /** The agent, once its signature has been checked; null before, and for keys without a DID. */
  readonly did: string | null
}

/** What a result says of a signature, whatever its verdict. */
interface SignatureDetails {
  /** The JWK thumbprint that the signature names; null if there is none. Proven only with `verified`. */
  readonly keyid: string | null
  /** What the signature names as the place of its keys; null if there is none. */
  readonly signatureAgent: SignatureAgent | null
  /** That of the signer, whatever the signature covers; null if that was not decided. */
  readonly profile: SignatureProfile | null
  /** Whether it is known that the nonce was not used before. */
  readonly replay: 'checked' | 'unchecked'
  /** `none`: the signature covers no digest, and the request has no content. */
  readonly digest: 'checked' | 'unchecked' | 'none'
  /** The covered `Content-Digest` field, to compare where the body is visible; null without one or before the signature was checked. */
  readonly contentDigest: string | null
  /** The chain of delegations with which the request was sent, then `did` is the agent and `keyid` the delegate's key; null without one. */
  readonly delegation: Delegation | null
  /** With `verified` the approval of the request, if the verifier requires one; else null. */
  readonly approval: RequestApproval | null
}
