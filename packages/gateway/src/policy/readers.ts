import { didOf, type Naming, namingOfDid, parseDidOrTail } from '@countersign/protocol'

/** The deployment's names, and the list that collects mistakes. */
export interface ReadContext {
  readonly naming: Naming
  readonly mistakes: string[]
  /** What the DIDs of other trusted issuers begin with. */
  readonly didPrefixes?: readonly string[]
}

/** Validates a value of a policy. If it is invalid, adds a mistake to the list and returns undefined. */
export interface Reader<T> {
  (value: unknown, place: string, context: ReadContext): T | undefined
  /** The accepted values, for messages and the reference. */
  readonly accepts: string
}

/** @param parse returns undefined if the value is invalid */
function reader<T>(
  accepts: string,
  parse: (value: unknown, context: ReadContext) => T | undefined,
): Reader<T> {
  const read = (value: unknown, place: string, context: ReadContext) => {
    const parsed = parse(value, context)
    if (parsed === undefined) context.mistakes.push(`${place} must be ${accepts}`)
    return parsed
  }
  return Object.assign(read, { accepts })
}

const code = (text: unknown) => `\`${text}\``

export function oneOf<const T extends string>(...values: readonly T[]): Reader<T> {
  const accepts = values
    .map(code)
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1')
  return reader(accepts, (value) => (values.includes(value as T) ? (value as T) : undefined))
}

export const boolean = reader('`true` or `false`', (value) =>
  typeof value === 'boolean' ? value : undefined,
)

export function numberBetween(min: number, max: number): Reader<number> {
  return reader(`a number from ${min} to ${max}`, (value) =>
    typeof value === 'number' && value >= min && value <= max ? value : undefined,
  )
}

export function integerBetween(min: number, max: number): Reader<number> {
  return reader(`an integer from ${min} to ${max}`, (value) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
      ? (value as number)
      : undefined,
  )
}

export function stringMatching(test: (text: string) => boolean, accepts: string): Reader<string> {
  return reader(accepts, (value) => (typeof value === 'string' && test(value) ? value : undefined))
}

/** A DID or its tail. Returns the full DID, the form in which decisions compare agents. */
export const did = reader(
  'a DID of the service or its 24 characters',
  (value, { naming, didPrefixes = [] }) => {
    if (typeof value !== 'string') return undefined
    const tail = parseDidOrTail(naming, value)
    if (tail !== null) return didOf(naming, tail) as string
    const other = namingOfDid(value)
    const isTrusted = other !== null && didPrefixes.includes(other.didPrefix)
    return isTrusted && other.didPattern.test(value) ? value : undefined
  },
)

export function nullable<T>(read: Reader<T>): Reader<T | null> {
  return Object.assign(
    (value: unknown, place: string, context: ReadContext) =>
      value === null ? null : read(value, place, context),
    { accepts: `${read.accepts}, or \`null\`` },
  )
}

/** @param minLength the minimum number of entries */
export function listOf<T>(read: Reader<T>, accepts: string, minLength = 0): Reader<readonly T[]> {
  return Object.assign(
    (value: unknown, place: string, context: ReadContext) => {
      if (!Array.isArray(value) || value.length < minLength) {
        context.mistakes.push(`${place} must be ${accepts}`)
        return undefined
      }
      return value
        .map((each, i) => read(each, `${place}[${i}]`, context))
        .filter((each) => each !== undefined)
    },
    { accepts },
  )
}

/** The fields of an object. Adds a mistake if the value is no object, and one for each unknown field. */
export function record(
  value: unknown,
  place: string,
  known: readonly string[],
  { mistakes }: ReadContext,
): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    mistakes.push(`${place} must be an object`)
    return {}
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) mistakes.push(`${place}.${name} is unknown`)
  }
  return value as Record<string, unknown>
}
