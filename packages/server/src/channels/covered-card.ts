import { CodedError } from '@countersign/protocol'
import { parseStrictText } from '../http/json-body.ts'

/** The members of an agent card (A2A 1.0 section 4.4.1). */
const MEMBERS: ReadonlySet<string> = new Set([
  'name',
  'description',
  'supportedInterfaces',
  'provider',
  'version',
  'documentationUrl',
  'capabilities',
  'securitySchemes',
  'securityRequirements',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
  'signatures',
  'iconUrl',
])

/**
 * Claims with which a token states something about somebody (RFC 7519, RFC 7800, RFC 8693, RFC 9068, SD-JWT VC). A service that signs them is
 * understood to state it: a countersigned card with `iss` and `sub` would be a token of the service.
 */
const CLAIMS: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'cnf', 'vct', 'vc', 'status', 'act'],
  ...['azp', 'client_id', 'scope', 'nonce', 'sid', 'may_act', 'events', 'htm', 'htu', 'ath'],
])

const MAX_DEPTH = 32

/** Members of an agent card by name. */
export type CardMembers = Readonly<Record<string, unknown>>

/**
 * Parses an agent card of which a signature covers everything.
 * @param canonical what the signature covers: the members that A2A defines, in canonical JSON
 * @throws CodedError VALIDATION_ERROR if the card has duplicate members, JWT claims, or anything that the signature would not cover
 */
export function parseCoveredCard(text: string, canonical: string): CardMembers {
  const card = parseStrictText(text, 'The agent card') as CardMembers
  const names = Object.keys(card).filter((name) => !MEMBERS.has(name))
  const claims = names.filter((name) => CLAIMS.has(name))
  if (claims.length > 0) {
    throw refusal(
      `The agent card has members that are claims of tokens: ${claims.join(', ')}. Remove them.`,
    )
  }
  if (names.length > 0) throw uncovered(names)
  const { signatures: _, ...signed } = card
  const covered: unknown = JSON.parse(canonical)
  const [first] = uncoveredPaths(signed, covered, '')
  if (first !== undefined) throw uncovered([first])
  return card
}

function uncovered(names: readonly string[]): CodedError {
  return refusal(
    `A signature would not cover these members of the agent card, because A2A 1.0 does not define them in this form: ${names.map((name) => name.slice(0, 100)).join(', ')}. Remove them, and sign the card again.`,
  )
}

/** The paths of values that differ from what is covered. Default and empty values are left out of the canonical form (A2A 1.0 section 8.4.1). */
function* uncoveredPaths(
  value: unknown,
  covered: unknown,
  path: string,
  depth = 0,
): Generator<string> {
  if (depth > MAX_DEPTH) yield path
  else if (Array.isArray(value) && Array.isArray(covered)) {
    const items = value.filter((item) => !isEmpty(item))
    if (items.length !== covered.length) yield path
    for (const [i, item] of items.entries())
      yield* uncoveredPaths(item, covered[i], `${path}[${i}]`, depth + 1)
  } else if (isMembers(value) && isMembers(covered)) {
    for (const [name, inner] of Object.entries(value)) {
      const below = path === '' ? name : `${path}.${name}`
      if (!name.isWellFormed()) yield path
      else if (Object.hasOwn(covered, name))
        yield* uncoveredPaths(inner, covered[name], below, depth + 1)
      else if (inner !== false && inner !== 0 && !isEmpty(inner)) yield below
    }
  } else if (value !== covered || (typeof value === 'string' && !value.isWellFormed())) {
    yield path
  }
}

function isEmpty(value: unknown, depth = 0): boolean {
  if (depth > MAX_DEPTH) return false
  if (typeof value !== 'object' || value === null) return value === '' || value === null
  return Object.values(value).every((inner) => isEmpty(inner, depth + 1))
}

function isMembers(value: unknown): value is CardMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refusal(message: string): CodedError {
  return new CodedError('VALIDATION_ERROR', message)
}
