import {
  agentHeaders,
  fieldValue,
  type HeaderFields,
  headerFields,
  isSafeMethod,
  type Naming,
  type PathAndQuery,
  parseDictionary,
  type RawRequest,
  readAuthority,
  readPath,
  readSignatureInput,
  requestHasContent,
  type SignatureInput,
  type SignatureInputFault,
  type SignatureProfile,
  StructuredFieldError,
  signatureBase,
  singletonHeaders,
  strictNames,
} from '@countersign/protocol'

/** What a request says, whether or not its signature counts. */
export interface DecodedRequest {
  readonly raw: RawRequest
  readonly fields: HeaderFields
  readonly authority: string | null
  readonly path: PathAndQuery | null
  readonly input: SignatureInput | SignatureInputFault
  /** What a signature of the profile `strict` covers of this request, in its order. */
  readonly required: readonly string[]
  /** Null if there is none. */
  readonly base: string | null
}

export function decodeRequest(raw: RawRequest, naming: Naming): DecodedRequest {
  const { method, scheme, target, authority: host } = raw
  const fields = headerFields(raw.headers)
  const authority = readAuthority(raw, fields)
  const origin = `${scheme}://${authority ?? host}`
  const path = readPath(target, origin)
  const input = readSignatureInput(fields, singletonHeaders(naming.idHeader))
  const hasContent = requestHasContent(raw, fields)
  const parts = { method, fields, hasQuery: target.includes('?'), hasContent }
  const headers = agentHeaders(naming.idHeader)
  // The identification header may be absent from a signature; if it is there, another check is about it.
  const required = strictNames(parts, headers).filter((each) => each !== headers[0])
  const base =
    typeof input === 'string' || path === null
      ? null
      : baseOf({ method, origin, fields, ...path }, input)
  return { raw, fields, authority, path, input, required, base }
}

function baseOf(
  parts: Parameters<typeof signatureBase>[0],
  { components, params }: SignatureInput,
): string | null {
  try {
    return signatureBase(parts, components, params)
  } catch (error) {
    if (error instanceof StructuredFieldError) return null
    throw error
  }
}

/** The names of the components that a signature covers; empty if it could not be read. */
export function coveredNames({ input }: Pick<DecodedRequest, 'input'>): readonly string[] {
  return typeof input === 'string' ? [] : input.components.map(({ name }) => name)
}

/** What a signature of a profile has to cover of this request. */
export function requiredNames(
  { raw: { method }, required }: Pick<DecodedRequest, 'raw' | 'required'>,
  profile: SignatureProfile | null,
): readonly string[] {
  return profile === 'wba' && isSafeMethod(method) ? ['@authority'] : required
}

/**
 * What is likely wrong with a signature that cannot be parsed. The verifier has decided already.
 * @returns a sentence; null if nothing is found
 */
export function syntaxHint(
  { fields }: Pick<DecodedRequest, 'fields'>,
  naming: Naming,
): string | null {
  for (const name of ['signature-input', 'signature']) {
    const value = fieldValue(fields, name)
    if (value === null) return `${titleOf(name)} is missing.`
    try {
      parseDictionary(value)
    } catch (error) {
      if (error instanceof StructuredFieldError) {
        return `${titleOf(name)} is no dictionary: ${error.message}.`
      }
      throw error
    }
  }
  for (const name of singletonHeaders(naming.idHeader)) {
    if ((fields.get(name)?.length ?? 0) > 1) return `The header ${name} is repeated.`
  }
  const input = fieldValue(fields, 'signature-input') ?? ''
  if (!fields.has('signature-agent')) return 'Signature-Agent is missing.'
  if (!input.includes('"signature-agent"')) return 'The signature does not cover signature-agent.'
  return null
}

function titleOf(name: string): string {
  return name === 'signature' ? 'Signature' : 'Signature-Input'
}
