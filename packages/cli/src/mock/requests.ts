import {
  AGENT_ID_PATTERN,
  CodedError,
  challengeMessage,
  decodeKey,
  decodeSignature,
  keyEncodingFault,
  keyFault,
  type Naming,
  parseChallenge,
} from '@countersign/protocol'

/** A verification (contract 4.3), read. */
export interface VerifyInput {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
  /** The agent that is meant if several have the key, or null. */
  readonly did: string | null
}

/**
 * Reads the body of a verification.
 * @throws CodedError VALIDATION_ERROR
 */
export function readVerify(naming: Naming, body: Uint8Array): VerifyInput {
  const { didField } = naming
  const input = readTexts(body, ['publicKey', 'challenge', 'signature'], [didField, 'audience'])
  const publicKey = decodeKey(input.publicKey ?? '')
  const signature = decodeSignature(input.signature ?? '')
  const { audience, challenge = '' } = input
  const did = input[didField] ?? null
  const isMalformed = publicKey === null || signature === null
  if (isMalformed || keyEncodingFault(publicKey) !== null) throw invalid('key or signature')
  if (did !== null && !naming.didPattern.test(did)) throw invalid(didField)
  if (audience !== undefined && parseChallenge(naming, challenge)?.audience !== audience) {
    throw invalid('challenge for this audience')
  }
  return { publicKey, message: challengeMessage(challenge), signature, did }
}

/**
 * Reads the body of a claim (contract 4.4). The mock has issued no token, so only its form matters.
 * @throws CodedError VALIDATION_ERROR
 */
export function readClaim(naming: Naming, body: Uint8Array): void {
  const input = readTexts(body, ['claimToken', 'agentId', 'publicKey', 'signature'])
  const publicKey = decodeKey(input.publicKey ?? '')
  if (publicKey === null || keyFault(publicKey) !== null) throw invalid('publicKey')
  if (decodeSignature(input.signature ?? '') === null) throw invalid('signature')
  if (!naming.tokenPattern.test(input.claimToken ?? '')) throw invalid('claimToken')
  if (!AGENT_ID_PATTERN.test(input.agentId ?? '')) throw invalid('agentId')
}

/** Reads an object of texts, all of the required ones and no others but the optional ones. */
function readTexts(
  body: Uint8Array,
  required: readonly string[],
  optional: readonly string[] = [],
): Readonly<Record<string, string>> {
  const value = parseJson(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('body')
  const members = Object.entries(value)
  const isKnown = members.every(
    ([name, text]) => [...required, ...optional].includes(name) && typeof text === 'string',
  )
  const isComplete = required.every((name) => Object.hasOwn(value, name))
  if (!isKnown || !isComplete) throw invalid(`body: it has the texts ${required.join(', ')}`)
  return value as Record<string, string>
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    throw invalid('JSON')
  }
}

function invalid(what: string): CodedError {
  return new CodedError('VALIDATION_ERROR', `The request has no valid ${what}.`)
}
