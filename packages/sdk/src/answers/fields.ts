/** An answer is not what the contract says. The message says what the service does, and at which place. */
export class Departure extends Error {
  override readonly name = 'Departure'

  static at(place: string): Departure {
    return new Departure(`answers in another shape than the contract's (see ${place})`)
  }
}

/** Reads one value, or throws a Departure that names its place. */
export type Read<T> = (value: unknown, place: string) => T

/** A place is bad where the value there fails a test. */
function reading<T>(fits: (value: unknown) => boolean): Read<T> {
  return (value, place) => {
    if (!fits(value)) throw Departure.at(place)
    return value as T
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

export const text = reading<string>(isText)
export const flag = reading<boolean>((value) => typeof value === 'boolean')
export const count = reading<number>(Number.isInteger)
/** ISO 8601 in UTC. */
export const time = reading<string>(
  (value) =>
    isText(value) && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) && !Number.isNaN(Date.parse(value)),
)
export const url = reading<string>((value) => isText(value) && URL.canParse(value))

export function matching(pattern: RegExp): Read<string> {
  return reading((value) => isText(value) && pattern.test(value))
}

export function oneOf<const T>(...values: readonly T[]): Read<T> {
  return reading((value) => values.includes(value as T))
}

export function orNull<T>(read: Read<T>): Read<T | null> {
  return (value, place) => (value === null ? null : read(value, place))
}

export function list<T>(read: Read<T>): Read<readonly T[]> {
  return (value, place) => {
    if (!Array.isArray(value)) throw Departure.at(place)
    return value.map((each, i) => read(each, `${place}[${i}]`))
  }
}

/** The fields of an object; others, which a newer service may have, are left out. */
export function fields<T>(readers: { readonly [K in keyof T]: Read<T[K]> }): Read<T> {
  return (value, place) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw Departure.at(place)
    }
    const entries = Object.entries<Read<unknown>>(readers).map(([name, read]) => [
      name,
      read(own(value, name), `${place}.${name}`),
    ])
    return Object.fromEntries(entries) as T
  }
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}

/** An object one of whose fields is named by the deployment: `from` on the wire is `did` here. */
export function withDid<T extends { readonly did: string }>(
  from: string,
  did: Read<string>,
  rest: Read<Omit<T, 'did'>>,
): Read<T> {
  return (value, place) => {
    const others = rest(value, place)
    return { did: did(own(value as object, from), `${place}.${from}`), ...others } as unknown as T
  }
}

/** An answer about whom it was asked for, and nobody else. */
export function about<T>(read: Read<T>, isMeant: (answer: T) => boolean): Read<T> {
  return (value, place) => {
    const answer = read(value, place)
    if (!isMeant(answer)) throw new Departure('answers about another agent')
    return answer
  }
}
