import { utf8 } from '../encoding.ts'
import { keyThumbprint, parseThumbprint } from '../public-key.ts'
import {
  type BareItem,
  type InnerList,
  isInnerList,
  type Parameters,
  parseDictionary,
  StructuredFieldError,
  serializeMember,
} from './structured-fields.ts'

/** The value of the parameter `tag` of signatures over a key set (draft-meunier-http-message-signatures-directory). */
export const KEY_DIRECTORY_TAG = 'http-message-signatures-directory'

/** How far ahead of the verifier's clock `created` of a signature over a key set may be, in seconds. */
export const DIRECTORY_CLOCK_SKEW = 30
/** How old a signature over a key set may be when it is uploaded, in seconds. */
export const DIRECTORY_PROOF_MAX_AGE = 300
/** The longest lifetime of a signature over a key set that an agent uploads, in seconds: 30 days. */
export const DIRECTORY_PROOF_MAX_LIFETIME = 30 * 86_400

/** The label under which the signature is sent. */
const LABEL = 'sig1'

/** What a key says of itself when it signs the response that contains it. */
export interface DirectoryClaim {
  /** The host of the address at which the key set is published, with the port unless it is the default one. */
  readonly authority: string
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** Unix seconds. */
  readonly created: number
  readonly expires: number
}

/** The header fields of a signed key set. */
export interface DirectorySignature {
  /** The value of `Signature-Input`. */
  readonly signatureInput: string
  /** The value of `Signature`. */
  readonly signature: string
}

/**
 * Signs a key set with a key that it contains: the holder of the key agrees that `authority` serves it.
 * The signed bytes begin with `"@authority";req: ` and end in the tag, so that they are neither a request's signature base
 * nor an answer to a challenge, a claim or an operation on a key.
 * @param sign signs bytes with pure Ed25519. @returns 64 bytes
 */
export async function signDirectory(
  { authority, publicKey, created, expires }: DirectoryClaim,
  sign: (message: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<DirectorySignature> {
  const text = (value: string): BareItem => ({ type: 'string', value })
  const member: InnerList = {
    items: [{ item: text('@authority'), params: new Map([['req', TRUE]]) }],
    params: new Map<string, BareItem>([
      ['created', { type: 'integer', value: created }],
      ['expires', { type: 'integer', value: expires }],
      ['keyid', text(keyThumbprint(publicKey))],
      ['tag', text(KEY_DIRECTORY_TAG)],
    ]),
  }
  const params = serializeMember(member)
  const value = await sign(directoryMessage(authority, params))
  return {
    signatureInput: `${LABEL}=${params}`,
    signature: `${LABEL}=${serializeMember({ item: { type: 'bytes', value }, params: new Map() })}`,
  }
}

const TRUE: BareItem = { type: 'boolean', value: true }

/**
 * The bytes of a signature over a key set (RFC 9421 section 2.5).
 * @param params the serialized value of `@signature-params`
 */
export function directoryMessage(authority: string, params: string): Uint8Array {
  return utf8(`"@authority";req: ${authority}\n"@signature-params": ${params}`)
}

/** A signature over a key set, parsed and not yet verified. */
export interface ParsedDirectorySignature extends DirectorySignature {
  /** The value of `@signature-params`, serialized. */
  readonly params: string
  /** Unix seconds. */
  readonly created: number
  readonly expires: number
  /** 43 characters of base64url. */
  readonly keyid: string
  /** 64 bytes, if it is one of Ed25519. */
  readonly bytes: Uint8Array
}

const PARAMETERS = new Set(['created', 'expires', 'keyid', 'tag', 'alg', 'nonce'])

/**
 * Reads the one signature over a key set. The returned header fields are serialized anew, so that they can be sent.
 * @throws StructuredFieldError that says what is wrong
 */
export function parseDirectorySignature(fields: DirectorySignature): ParsedDirectorySignature {
  const inputs = parseDictionary(fields.signatureInput)
  const signatures = parseDictionary(fields.signature)
  const [[label, member] = []] = inputs
  const value = label === undefined ? undefined : signatures.get(label)
  if (inputs.size !== 1 || signatures.size !== 1 || member === undefined || value === undefined) {
    throw new StructuredFieldError('Signature-Input and Signature need one member of the same name')
  }
  if (isInnerList(value) || value.item.type !== 'bytes' || value.params.size > 0) {
    throw new StructuredFieldError('the signature is not a byte sequence')
  }
  if (!isInnerList(member) || !coversOnlyAuthority(member)) {
    throw new StructuredFieldError('the signature does not cover exactly "@authority";req')
  }
  const { params } = member
  for (const name of params.keys()) {
    if (!PARAMETERS.has(name)) throw new StructuredFieldError(`the parameter ${name} is unknown`)
  }
  if (textOf(params, 'tag') !== KEY_DIRECTORY_TAG) {
    throw new StructuredFieldError(`the tag is not ${KEY_DIRECTORY_TAG}`)
  }
  if (params.has('alg') && textOf(params, 'alg') !== 'ed25519') {
    throw new StructuredFieldError('alg is not ed25519')
  }
  const keyid = textOf(params, 'keyid')
  if (parseThumbprint(keyid) === null) {
    throw new StructuredFieldError('keyid is not a JWK thumbprint')
  }
  return {
    signatureInput: `${label}=${serializeMember(member)}`,
    signature: `${label}=${serializeMember(value)}`,
    params: serializeMember(member),
    created: secondsOf(params, 'created'),
    expires: secondsOf(params, 'expires'),
    keyid,
    bytes: value.item.value,
  }
}

function coversOnlyAuthority({ items }: InnerList): boolean {
  const [first, ...others] = items
  const req = first?.params.get('req')
  return (
    others.length === 0 &&
    first?.item.type === 'string' &&
    first.item.value === '@authority' &&
    first.params.size === 1 &&
    req?.type === 'boolean' &&
    req.value
  )
}

function textOf(params: Parameters, name: string): string {
  const item = params.get(name)
  if (item?.type === 'string') return item.value
  throw new StructuredFieldError(`the parameter ${name} is missing or not a string`)
}

function secondsOf(params: Parameters, name: string): number {
  const item = params.get(name)
  if (item?.type === 'integer' && item.value >= 0) return item.value
  throw new StructuredFieldError(`the parameter ${name} is missing or not a time`)
}
