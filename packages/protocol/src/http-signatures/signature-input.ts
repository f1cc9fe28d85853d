import {
  type Component,
  type CoveredParts,
  coveredField,
  isSafeMethod,
  readComponents,
  strictNames,
  WEB_BOT_AUTH_TAG,
} from './components.ts'
import { fieldValue, type HeaderFields } from './raw-request.ts'
import { parseSignatureAgent } from './signature-agent.ts'
import type { SignatureAgent, SignatureReason, SignatureRules } from './signed-request-types.ts'
import {
  type BareItem,
  isInnerList,
  type Member,
  type Parameters,
  parseDictionary,
  StructuredFieldError,
  serializeMember,
} from './structured-fields.ts'

/** The Web Bot Auth signature of a request, parsed and not yet verified. */
export interface SignatureInput {
  readonly label: string
  readonly components: readonly Component[]
  /** The value of `@signature-params`, serialized. */
  readonly params: string
  /** Seconds since 1970; null if absent. */
  readonly created: number | null
  readonly expires: number | null
  readonly keyid: string
  readonly nonce: string | null
  readonly alg: string | null
  readonly signature: Uint8Array
  readonly signatureAgent: SignatureAgent
}

/** At most this many bytes in each header field that a signature is read from or covers. */
export const MAX_FIELD_BYTES = 8192
/** At most this many signatures in a request, of any tag. */
export const MAX_SIGNATURES = 4
/** At most this many components in a signature. */
export const MAX_COMPONENTS = 32

/** How far ahead of this clock a signature may have been made, in seconds. */
export const MAX_CLOCK_SKEW = 30
/** How long a signature by an agent may be valid, in seconds. No nonce is remembered for longer after it was created. */
export const MAX_LIFETIME = 300
/** How long a signature by a key of a directory may be valid, in seconds: 24 hours (draft-meunier-webbotauth-httpsig-protocol). */
export const MAX_DIRECTORY_LIFETIME = 86_400

/** The rules for agents of the service, and for keys that nobody has listed. */
export const AGENT_RULES: SignatureRules = { profile: 'strict', maxLifetimeSeconds: MAX_LIFETIME }

/** Why a request's signature could not be read. */
export type SignatureInputFault = 'unsigned' | 'limits' | 'malformed' | 'untrusted-agent'

/**
 * Reads the one signature of a request with the tag `web-bot-auth`; those with other tags are ignored. The signature is
 * found by its tag and `Signature-Agent` by its key, since intermediaries may change labels.
 * @param singletons header fields, in lower case, that may occur once
 */
export function readSignatureInput(
  fields: HeaderFields,
  singletons: readonly string[],
): SignatureInput | SignatureInputFault {
  const input = fieldValue(fields, 'signature-input')
  const signature = fieldValue(fields, 'signature')
  if (input === null && signature === null) return 'unsigned'
  if (exceedsFieldLimit(fields)) return 'limits'
  if (input === null || signature === null) return 'malformed'
  if (singletons.some((name) => (fields.get(name)?.length ?? 0) > 1)) return 'malformed'
  try {
    return readFields(fields, input, signature)
  } catch (error) {
    if (error instanceof StructuredFieldError) return 'malformed'
    throw error
  }
}

function exceedsFieldLimit(fields: HeaderFields): boolean {
  for (const lines of fields.values()) {
    let length = 0
    for (const line of lines) length += line.length
    if (length > MAX_FIELD_BYTES) return true
  }
  return false
}

function readFields(
  fields: HeaderFields,
  input: string,
  signature: string,
): SignatureInput | SignatureInputFault {
  const inputs = parseDictionary(input)
  const signatures = parseDictionary(signature)
  if (inputs.size > MAX_SIGNATURES || signatures.size > MAX_SIGNATURES) return 'limits'
  let tagged: readonly [string, Member] | null = null
  for (const each of inputs) {
    if (!hasOurTag(each[1].params)) continue
    if (tagged !== null) return 'malformed'
    tagged = each
  }
  if (tagged === null) return 'unsigned'
  const [label, member] = tagged
  const value = signatures.get(label)
  if (!isInnerList(member) || value === undefined || isInnerList(value)) return 'malformed'
  if (value.item.type !== 'bytes' || value.params.size > 0) return 'malformed'
  if (member.items.length > MAX_COMPONENTS) return 'limits'
  const components = readComponents(member)
  for (const { name } of components) if (!name.startsWith('@')) coveredField(fields, name)
  const covered = components.find(({ name }) => name === 'signature-agent')
  if (covered === undefined) return 'malformed'
  const { params } = member
  const keyid = text(params, 'keyid')
  if (keyid === null || !/^[A-Za-z0-9_-]{43}$/.test(keyid)) return 'malformed'
  const signatureAgent = parseSignatureAgent(coveredField(fields, 'signature-agent'), covered.key)
  if (signatureAgent === null) return 'untrusted-agent'
  return {
    label,
    components,
    params: serializeMember(member),
    created: seconds(params, 'created'),
    expires: seconds(params, 'expires'),
    keyid,
    nonce: text(params, 'nonce'),
    alg: text(params, 'alg'),
    signature: value.item.value,
    signatureAgent,
  }
}

function hasOurTag(params: Parameters): boolean {
  const tag = params.get('tag')
  return tag?.type === 'string' && tag.value === WEB_BOT_AUTH_TAG
}

function text(params: Parameters, name: string): string | null {
  return parameterOf(params, name, 'string')?.value ?? null
}

function seconds(params: Parameters, name: string): number | null {
  return parameterOf(params, name, 'integer')?.value ?? null
}

function parameterOf<T extends BareItem['type']>(params: Parameters, name: string, type: T) {
  const item = params.get(name)
  if (item === undefined) return null
  if (item.type !== type) throw new StructuredFieldError(`the parameter ${name} has another type`)
  return item as BareItem & { readonly type: T }
}

/** Whether a signature covers a component. @param name as in `Signature-Input`, without quotes */
export function covers({ components }: SignatureInput, name: string): boolean {
  return components.some((each) => each.name === name)
}

/**
 * Whether a signature covers what its profile requires of this request.
 * @param agentHeaders of the deployment, in lower case; the first one is the identification header
 */
export function coversEnough(
  { profile }: SignatureRules,
  request: CoveredParts,
  input: SignatureInput,
  agentHeaders: readonly string[],
): boolean {
  if (profile === 'wba' && isSafeMethod(request.method)) {
    return covers(input, '@authority') || covers(input, '@target-uri')
  }
  const [idHeader] = agentHeaders
  for (const name of strictNames(request, agentHeaders)) {
    if (name !== idHeader && !covers(input, name)) return false
  }
  // `@query` has the same value for a lone `?` as for no query.
  return request.hasQuery || !covers(input, '@query')
}

/** Whether a signature is valid for longer than its rules allow, or has no lifetime. */
export function exceedsLifetime(
  { maxLifetimeSeconds }: SignatureRules,
  { created, expires }: SignatureInput,
): boolean {
  if (created === null || expires === null || expires <= created) return true
  return expires - created > maxLifetimeSeconds
}

/** @param now in milliseconds since 1970 */
export function timesFault(
  rules: SignatureRules,
  input: SignatureInput,
  now: number,
): SignatureReason | null {
  if (exceedsLifetime(rules, input)) return 'lifetime'
  const seconds = now / 1000
  if ((input.created ?? 0) > seconds + MAX_CLOCK_SKEW) return 'not-yet-valid'
  // With the bounded lifetime, this bounds the age of `created` too.
  return (input.expires ?? 0) < seconds ? 'expired' : null
}
