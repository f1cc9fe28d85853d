import { isChain } from '../delegation/format.ts'
import type { VerifyBytes } from '../delegation/verify-hops.ts'
import { parseDidOrTail } from '../did.ts'
import { utf8 } from '../encoding.ts'
import type { Naming } from '../naming.ts'
import { cachedThumbprint } from '../public-key.ts'
import { agentHeaders, signatureBase, singletonHeaders } from './components.ts'
import { matchesContentDigest, parseContentDigest } from './content-digest.ts'
import { type Replay, recordNonce } from './nonce-store.ts'
import {
  fieldValue,
  type HeaderFields,
  type PathAndQuery,
  readAuthority,
  readPath,
  requestHasContent,
} from './raw-request.ts'
import { isLoopback } from './signature-agent.ts'
import {
  AGENT_RULES,
  covers,
  coversEnough,
  exceedsLifetime,
  readSignatureInput,
  type SignatureInput,
  timesFault,
} from './signature-input.ts'
import { SIGNATURE_REASONS } from './signature-verdict.ts'
import type {
  Delegation,
  KeyReference,
  NonceStore,
  RawRequest,
  SignatureAgent,
  SignatureReason,
  SignatureResult,
  SignatureRules,
  SigningKey,
  UnverifiedResult,
} from './signed-request-types.ts'
import { StructuredFieldError } from './structured-fields.ts'

/** Which signatures are expected. */
export interface ExpectedSignatures {
  /** The origins at which agents reach the site, such as `https://shop.example`. They never come from a request. */
  readonly audiences: readonly string[]
  /** The names of the deployment whose agents are expected. */
  readonly naming: Naming
  /**
   * The rules for signers whose keys are at a place that you trust besides the service; null: those for agents. Keys of agents
   * have the rules for agents, whatever this says. Default: null.
   */
  readonly rulesOf?: ((agent: SignatureAgent) => SignatureRules | null) | undefined
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number
  /** Accept keys that are published in standards. For tests only. */
  readonly allowTestKeys?: boolean | undefined
}

/** Thumbprints of the Ed25519 keys of RFC 9421 appendix B.1.4, which the Web Bot Auth drafts use too, and RFC 8037 appendix A. */
const PUBLISHED_TEST_KEYS = new Set([
  'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U',
  'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
])

/** Whether a key is published in a standard, so that everyone can sign with it. @param keyid its JWK thumbprint */
export function isPublishedTestKey(keyid: string): boolean {
  return PUBLISHED_TEST_KEYS.has(keyid)
}

/** A signature that could be read: of a request to one of the audiences, within its times, over what its rules require. */
export interface ParsedSignature extends KeyReference {
  readonly expected: Settings
  readonly received: Received
  readonly input: SignatureInput
  readonly rules: SignatureRules
  /** The chain of delegations of the request; null without one. */
  readonly chain: string | null
  /** What a result says of it so far. */
  readonly known: Known
}

/** A signature by the key that it names. */
export interface VerifiedSignature extends ParsedSignature {
  readonly key: SigningKey
  /** The key whose share of the nonce store the request takes, by its JWK thumbprint: that of the agent. */
  readonly agentKeyid: string
}

/** The key at the end of a chain that was verified, with DID and status of the agent. */
export interface DelegatedKey {
  readonly key: SigningKey
  readonly agentKeyid: string
  readonly delegation: Delegation
}

interface Settings extends ExpectedSignatures {
  readonly hosts: ReadonlySet<string>
  /** Those of the audiences over which a signature counts. */
  readonly origins: ReadonlySet<string>
  /** In lower case; the first one is the identification header. */
  readonly agentHeaders: readonly string[]
  readonly singletons: readonly string[]
}

/** What was received, after the checks of authority and path. */
interface Received extends PathAndQuery {
  readonly method: string
  readonly origin: string
  readonly fields: HeaderFields
  readonly hasContent: boolean
  readonly hasQuery: boolean
  readonly body: RawRequest['body']
}

/**
 * The first step of a verification, without key: creates a function that reads the signature of a request.
 * @returns a function of a request and its fields (`headerFields`). It returns a result if the signature does not count
 * @throws RangeError if an audience is not an origin
 */
export function signatureReader(
  expected: ExpectedSignatures,
): (request: RawRequest, fields: HeaderFields) => ParsedSignature | UnverifiedResult {
  const { audiences, naming } = expected
  for (const each of audiences) {
    if (!URL.canParse(each) || new URL(each).origin !== each) {
      throw new RangeError('an audience is an origin, such as https://shop.example')
    }
  }
  // `@authority` does not cover the scheme, so what was captured on http would verify as https.
  const isSecure = ({ protocol, hostname }: URL) => protocol === 'https:' || isLoopback(hostname)
  const settings: Settings = {
    ...expected,
    hosts: new Set(audiences.map((each) => new URL(each).host)),
    origins: new Set(audiences.filter((each) => isSecure(new URL(each)))),
    agentHeaders: agentHeaders(naming.idHeader),
    singletons: singletonHeaders(naming.idHeader),
  }
  return (request, fields) => readSignature(settings, request, fields)
}

function readSignature(
  settings: Settings,
  request: RawRequest,
  fields: HeaderFields,
): ParsedSignature | UnverifiedResult {
  const input = readSignatureInput(fields, settings.singletons)
  if (typeof input === 'string') return refused(input, NOTHING_KNOWN)
  const { keyid, signatureAgent } = input
  const named = { ...NOTHING_KNOWN, keyid, signatureAgent }
  const received = receive(settings, request, fields)
  if (typeof received === 'string') return refused(received, named)
  // Whose key it is decides on the rules, not what the signature covers.
  const rules = settings.rulesOf?.(signatureAgent) ?? AGENT_RULES
  const known = { ...named, profile: rules.profile }
  const fault =
    (coversEnough(rules, received, input, settings.agentHeaders) ? null : 'components') ??
    timesFault(rules, input, settings.now()) ??
    testKeyFault(settings, input)
  if (fault !== null) return refused(fault, known)
  const certificate = fieldValue(fields, settings.agentHeaders[1] as string)
  const chain = certificate !== null && isChain(certificate) ? certificate : null
  return { keyid, signatureAgent, expected: settings, received, input, rules, chain, known }
}

/**
 * The result for a signature that does not count for a reason that its verifier has found.
 * @param delegation the chain of the request, if it was read
 */
export function refuseSignature(
  { known }: ParsedSignature,
  reason: SignatureReason,
  delegation: Delegation | null = known.delegation,
): UnverifiedResult {
  return refused(reason, { ...known, delegation })
}

/**
 * The second step: verifies the signature with the key that was found for it. A request with a chain of delegations is refused: that is
 * for `readDelegation` and `verifyDelegation`.
 * @returns a result if it does not count; a promise if `verify` returns one
 */
export function verifyWithKey(
  signature: ParsedSignature,
  key: SigningKey,
  verify: VerifyBytes,
): VerifiedSignature | UnverifiedResult | Promise<VerifiedSignature | UnverifiedResult> {
  if (signature.chain !== null) return refuseSignature(signature, 'delegation-refused', NOT_READ)
  return verifyBy(signature, { key, agentKeyid: signature.keyid }, verify)
}

/** The same with the key at the end of a chain of which everything else was verified. */
export function verifyWithDelegatedKey(
  signature: ParsedSignature,
  { key, agentKeyid, delegation }: DelegatedKey,
  verify: VerifyBytes,
): VerifiedSignature | UnverifiedResult | Promise<VerifiedSignature | UnverifiedResult> {
  const known = { ...signature.known, delegation }
  return verifyBy({ ...signature, known }, { key, agentKeyid }, verify)
}

function verifyBy(
  signature: ParsedSignature,
  by: Omit<DelegatedKey, 'delegation'>,
  verify: VerifyBytes,
): VerifiedSignature | UnverifiedResult | Promise<VerifiedSignature | UnverifiedResult> {
  const message = signedMessage(signature, by.key)
  if (typeof message === 'string') return refused(message, signature.known)
  const isValid = verify(by.key.publicKey, message, signature.input.signature)
  return typeof isValid === 'boolean'
    ? verifiedOf(signature, by, isValid)
    : isValid.then((each) => verifiedOf(signature, by, each))
}

function verifiedOf(
  signature: ParsedSignature,
  { key, agentKeyid }: Omit<DelegatedKey, 'delegation'>,
  isValid: boolean,
): VerifiedSignature | UnverifiedResult {
  if (!isValid) return refused('bad-signature', signature.known)
  const { input, received } = signature
  const isCovered = covers(input, 'content-digest')
  const contentDigest = isCovered ? fieldValue(received.fields, 'content-digest') : null
  const rules = key.did === null ? signature.rules : AGENT_RULES
  const known = { ...signature.known, did: key.did, contentDigest, profile: rules.profile }
  const agentFault = agentFaultOf(signature, key)
  return agentFault === null
    ? { ...signature, key, agentKeyid, rules, known }
    : refused(agentFault, known)
}

/**
 * The last step: records the nonce, and compares the digest with the body, if that is visible.
 * @param nonces null: the caller detects replays itself
 * @returns a promise if the store does
 */
export function checkReplayAndBody(
  signature: VerifiedSignature,
  nonces: NonceStore | null,
): SignatureResult | Promise<SignatureResult> {
  const { expected, input, rules, received, key, agentKeyid, chain } = signature
  const keyid = cachedThumbprint(key.publicKey)
  const keys = { keyid, shareOf: chain === null ? keyid : agentKeyid }
  const replay = recordNonce(nonces, rules, received.method, input, keys, expected.now())
  return typeof replay === 'string'
    ? resultOf(signature, replay)
    : replay.then((each) => resultOf(signature, each))
}

function resultOf({ received, known }: VerifiedSignature, replay: Replay): SignatureResult {
  if (replay !== 'checked' && replay !== 'unchecked') return refused(replay, known)
  const digest = digestOf(known.contentDigest, received.hasContent, received.body)
  if (digest === 'mismatch') return refused('digest', { ...known, replay })
  return { ...known, verdict: 'verified', reason: null, status: 200, replay, digest }
}

type Known = Omit<SignatureResult, 'verdict' | 'reason' | 'status'>

const NOTHING_KNOWN: Known = {
  did: null,
  keyid: null,
  signatureAgent: null,
  profile: null,
  replay: 'unchecked',
  digest: 'unchecked',
  contentDigest: null,
  delegation: null,
  approval: null,
}

/** Of a chain that was refused unread. */
const NOT_READ: Delegation = { depth: 0, keyid: null, fault: null, hops: [] }

function refused(reason: SignatureReason, known: Known): UnverifiedResult {
  return { ...known, ...SIGNATURE_REASONS[reason], reason }
}

/** Only what was sent to one of the audiences counts: a site could forward to us what was signed for itself. */
function receive(
  { audiences, hosts, origins }: Settings,
  request: RawRequest,
  fields: HeaderFields,
): Received | SignatureReason {
  if (audiences.length === 0) return 'no-audience'
  const authority = readAuthority(request, fields)
  if (authority === null) return 'bad-host'
  if (!hosts.has(authority)) return 'authority'
  const { method, scheme, target, body } = request
  const origin = `${scheme}://${authority}`
  if (!origins.has(origin)) return scheme === 'http' ? 'insecure' : 'authority'
  const path = readPath(target, origin)
  if (path === null) return 'bad-path'
  const hasContent = requestHasContent(request, fields)
  return { method, origin, fields, hasContent, hasQuery: path.query !== null, body, ...path }
}

function testKeyFault(
  { allowTestKeys = false }: Settings,
  { keyid }: SignatureInput,
): SignatureReason | null {
  return !allowTestKeys && PUBLISHED_TEST_KEYS.has(keyid) ? 'test-key' : null
}

/** The signed bytes, or why the signature cannot be one by this key. */
function signedMessage(
  { input, received }: ParsedSignature,
  { publicKey }: SigningKey,
): Uint8Array | SignatureReason {
  const { alg, keyid, components, params, signature } = input
  if (cachedThumbprint(publicKey) !== keyid) return 'unknown-key'
  if (alg !== null && alg !== 'ed25519') return 'algorithm'
  try {
    const base = signatureBase(received, components, params)
    return signature.length === 64 ? utf8(base) : 'bad-signature'
  } catch (error) {
    if (error instanceof StructuredFieldError) return 'malformed'
    throw error
  }
}

/** What the certificate says against an agent that holds its key. */
function agentFaultOf(
  { expected: { naming, agentHeaders }, received, input, rules }: ParsedSignature,
  { did, status }: SigningKey,
): SignatureReason | null {
  const { fields } = received
  // Agents of a Countersign issuer can always sign everything, also if a directory has their key.
  if (did !== null && rules !== AGENT_RULES) {
    if (!coversEnough(AGENT_RULES, received, input, agentHeaders)) return 'components'
    if (exceedsLifetime(AGENT_RULES, input)) return 'lifetime'
  }
  const name = naming.idHeader.toLowerCase()
  const identification = fieldValue(fields, name)
  if (identification !== null) {
    const tail = parseDidOrTail(naming, identification)
    const same = tail !== null && did !== null && tail === parseDidOrTail(naming, did)
    if (!same || !covers(input, name)) return 'identification-mismatch'
  }
  return status === 'suspended' || status === 'revoked' ? status : null
}

function digestOf(
  field: string | null,
  hasContent: boolean,
  body: Uint8Array | null | undefined,
): 'checked' | 'unchecked' | 'none' | 'mismatch' {
  if (field === null) return hasContent ? 'unchecked' : 'none'
  try {
    if (body !== undefined) {
      return matchesContentDigest(field, body ?? new Uint8Array()) ? 'checked' : 'mismatch'
    }
    parseContentDigest(field)
    return 'unchecked'
  } catch {
    return 'mismatch'
  }
}
