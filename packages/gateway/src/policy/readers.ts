import { didOf, type Naming, parseDidOrTail } from '@countersign/protocol'

/** What a reader works with: the deployment's names, and the list that mistakes go to. */
export interface Reading {
  readonly naming: Naming
  readonly mistakes: string[]
}

/** Reads a value of a policy; where it cannot, it says so in the list and returns undefined. */
export interface Reader<T> {
  (value: unknown, place: string, reading: Reading): T | undefined
  /** What it takes, in words. */
  readonly takes: string
}

/** A reader of what a function makes of a value; undefined is a mistake. */
function reader<T>(
  takes: string,
  make: (value: unknown, reading: Reading) => T | undefined,
): Reader<T> {
  const read = (value: unknown, place: string, reading: Reading) => {
    const made = make(value, reading)
    if (made === undefined) reading.mistakes.push(`${place} takes ${takes}`)
    return made
  }
  return Object.assign(read, { takes })
}

const code = (text: unknown) => `\`${text}\``

export function oneOf<const T extends string>(...values: readonly T[]): Reader<T> {
  const takes = values
    .map(code)
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1')
  return reader(takes, (value) => (values.includes(value as T) ? (value as T) : undefined))
}

export const flag = reader('`true` or `false`', (value) =>
  typeof value === 'boolean' ? value : undefined,
)

export function numberFrom(least: number, most: number): Reader<number> {
  return reader(`a number from ${least} to ${most}`, (value) =>
    typeof value === 'number' && value >= least && value <= most ? value : undefined,
  )
}

export function textThat(fits: (text: string) => boolean, takes: string): Reader<string> {
  return reader(takes, (value) => (typeof value === 'string' && fits(value) ? value : undefined))
}

/** A DID, or its tail, in the one form that decisions use. */
export const did = reader('a DID of the service or its 24 characters', (value, { naming }) => {
  const tail = typeof value === 'string' ? parseDidOrTail(naming, value) : null
  return tail === null ? undefined : (didOf(naming, tail) as string)
})

export function orNull<T>(read: Reader<T>): Reader<T | null> {
  return Object.assign(
    (value: unknown, place: string, reading: Reading) =>
      value === null ? null : read(value, place, reading),
    { takes: `${read.takes}, or \`null\`` },
  )
}

/** @param least how many there have to be */
export function listOf<T>(read: Reader<T>, takes: string, least = 0): Reader<readonly T[]> {
  return Object.assign(
    (value: unknown, place: string, reading: Reading) => {
      if (!Array.isArray(value) || value.length < least) {
        reading.mistakes.push(`${place} takes ${takes}`)
        return undefined
      }
      return value
        .map((each, i) => read(each, `${place}[${i}]`, reading))
        .filter((each) => each !== undefined)
    },
    { takes },
  )
}

/** The fields of an object: each mistaken, and each that is not known. */
export function record(
  value: unknown,
  place: string,
  known: readonly string[],
  { mistakes }: Reading,
): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    mistakes.push(`${place} takes an object`)
    return {}
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) mistakes.push(`${place}.${name} is not known`)
  }
  return value as Record<string, unknown>
}
