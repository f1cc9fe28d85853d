import { MAX_SCIM_OPERATIONS, SCIM_URNS, type ScimErrorType } from '@countersign/protocol'
import { ScimError } from '../../../http/scim-errors.ts'

/** What the service stores of a user. A member that is missing stays as it is; null clears it. */
export interface ScimAttributes {
  readonly userName?: string
  readonly externalId?: string | null
  readonly displayName?: string | null
  readonly active?: boolean
}

const MAX_TEXT = 256
/** A name with the schema before it, a filter and a sub-attribute after it (RFC 7644 section 3.10). */
const PATH = /^(?:(urn:[^\s[\]"]+):)?([A-Za-z$][\w$-]*)(\[.+\])?(?:\.[A-Za-z$][\w$-]*)?$/i

/** Entra sends the boolean as a text, in its own spelling. */
const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, true],
  ['True', true],
  ['true', true],
  [false, false],
  ['False', false],
  ['false', false],
])

/** By their names in lower case, since SCIM compares names without case. */
const READERS: ReadonlyMap<string, (value: unknown) => ScimAttributes> = new Map<
  string,
  (value: unknown) => ScimAttributes
>([
  ['username', (value) => ({ userName: readText('userName', value) })],
  ['externalid', (value) => ({ externalId: readOptional('externalId', value) })],
  ['displayname', (value) => ({ displayName: readOptional('displayName', value) })],
  ['active', (value) => ({ active: readActive(value) })],
])

/** Clears an attribute. Users always have a name, and are active or not. */
const REMOVED: ReadonlyMap<string, ScimAttributes> = new Map([
  ['externalid', { externalId: null }],
  ['displayname', { displayName: null }],
])

/**
 * Reads the attributes of a user from the body of a POST or PUT. Other ones are ignored.
 * @throws ScimError VALIDATION_ERROR
 */
export function readScimUser(body: unknown): ScimAttributes {
  return readAttributes(objectOf(body, 'The body'))
}

/**
 * Reads a PATCH (RFC 7644 section 3.5.2). Names and values are taken as identity providers send them: `op` and `path` in any
 * case, with or without the schema, or an object of attributes as value. Attributes that are not stored are ignored.
 * @returns all changes, of which later ones win
 * @throws ScimError VALIDATION_ERROR if one operation is invalid
 */
export function readScimPatch(body: unknown): ScimAttributes {
  const operations = memberOf(objectOf(body, 'The body'), 'Operations')
  if (!Array.isArray(operations) || operations.length === 0) {
    throw invalid('invalidSyntax', 'Operations must be a list of at least one operation.')
  }
  if (operations.length > MAX_SCIM_OPERATIONS) {
    throw invalid('invalidValue', `Send at most ${MAX_SCIM_OPERATIONS} operations.`)
  }
  let changes: ScimAttributes = {}
  for (const operation of operations) changes = { ...changes, ...readOperation(operation) }
  return changes
}

function readOperation(value: unknown): ScimAttributes {
  const operation = objectOf(value, 'An operation')
  const op = memberOf(operation, 'op')
  const kind = typeof op === 'string' ? op.toLowerCase() : ''
  if (!['add', 'replace', 'remove'].includes(kind)) {
    throw invalid('invalidSyntax', 'op must be add, replace or remove.')
  }
  const path = memberOf(operation, 'path')
  if (path !== undefined && typeof path !== 'string') {
    throw invalid('invalidPath', 'path must be a text.')
  }
  if (kind === 'remove') return readRemoval(path)
  const content = memberOf(operation, 'value')
  if (path === undefined || isUserSchema(path)) {
    return readAttributes(objectOf(content, 'The value of an operation without a path'))
  }
  const name = attributeOf(path)
  if (name === 'id') throw invalid('mutability', 'The id of a user cannot be changed.')
  return READERS.get(name ?? '')?.(content) ?? {}
}

function readRemoval(path: string | undefined): ScimAttributes {
  if (path === undefined) throw invalid('noTarget', 'remove needs a path.')
  const name = attributeOf(path)
  if (name === 'username' || name === 'active' || name === 'id') {
    throw invalid('mutability', `${path} cannot be removed. Set active to false instead.`)
  }
  return REMOVED.get(name ?? '') ?? {}
}

function readAttributes(object: object): ScimAttributes {
  let attributes: ScimAttributes = {}
  const seen = new Set<string>()
  for (const [key, value] of Object.entries(object)) {
    if (isUserSchema(key)) {
      attributes = { ...attributes, ...readAttributes(objectOf(value, 'The user')) }
      continue
    }
    const name = attributeOf(key)
    const read = READERS.get(name ?? '')
    if (read === undefined) continue
    if (seen.has(name ?? '')) throw invalid('invalidSyntax', 'An attribute is there twice.')
    seen.add(name ?? '')
    attributes = { ...attributes, ...read(value) }
  }
  return attributes
}

function isUserSchema(path: string): boolean {
  return path.toLowerCase() === SCIM_URNS.user.toLowerCase()
}

/**
 * @returns the name in lower case; null if the attribute is of another schema
 * @throws ScimError if a stored attribute has a filter or a sub-attribute: to ignore it would be to ignore the change
 */
function attributeOf(path: string): string | null {
  const [, schema, name = ''] = PATH.exec(path) ?? []
  if (name === '') throw invalid('invalidPath', 'A path is malformed.')
  if (schema !== undefined && !isUserSchema(schema)) return null
  const bare = schema === undefined ? path : path.slice(schema.length + 1)
  const attribute = name.toLowerCase()
  if (READERS.has(attribute) && bare !== name) {
    throw invalid('invalidPath', `${name} has no values of its own to choose from.`)
  }
  return attribute
}

function readActive(value: unknown): boolean {
  const active = BOOLEANS.get(value)
  if (active !== undefined) return active
  throw invalid('invalidValue', 'active must be true or false.')
}

function readText(name: string, value: unknown): string {
  if (typeof value === 'string' && isText(value)) return value
  throw invalid('invalidValue', `${name} must be a text of 1 to ${MAX_TEXT} characters.`)
}

function readOptional(name: string, value: unknown): string | null {
  return value === null || value === '' ? null : readText(name, value)
}

/** Whether a text can be stored: PostgreSQL has no U+0000. */
export function isText(text: string): boolean {
  return text !== '' && text.length <= MAX_TEXT && text.isWellFormed() && !/\p{Cc}/u.test(text)
}

function objectOf(value: unknown, subject: string): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw invalid('invalidSyntax', `${subject} must be an object.`)
}

/** A member of a message by its name without case. @throws ScimError if it is there twice */
function memberOf(object: object, name: string): unknown {
  const [first, second] = Object.entries(object).filter(
    ([key]) => key.toLowerCase() === name.toLowerCase(),
  )
  if (second !== undefined) throw invalid('invalidSyntax', `${name} is there twice.`)
  return first?.[1]
}

function invalid(scimType: ScimErrorType, message: string): ScimError {
  return new ScimError('VALIDATION_ERROR', scimType, message)
}
