import type { Answer } from './answer.ts'

/** A response differs from what the contract promises. */
export class Mismatch extends Error {
  /** The request, and the member of the response if it is about one. */
  readonly where: string
  readonly expected: string
  readonly actual: string

  constructor(where: string, expected: string, actual: string) {
    super(`${where}: expected ${expected}, got ${actual}`)
    this.where = where
    this.expected = expected
    this.actual = actual
  }
}

/** A check cannot be made. The message says why, and what would make it possible. */
export class Skip extends Error {}

/** Checks a value. @returns nothing if it is as expected, else what is expected of which member */
export type Shape = (value: unknown, path: string) => Fault | null

interface Fault {
  readonly path: string
  readonly expected: string
  readonly actual: unknown
}

/** A value for which a condition holds. @param expected a noun phrase, such as `a string` */
export function that(expected: string, holds: (value: unknown) => boolean): Shape {
  return (actual, path) => (holds(actual) ? null : { path, expected, actual })
}

export const anyText = that('a string', (value) => typeof value === 'string')
export const someText = that(
  'a string that is not empty',
  (value) => typeof value === 'string' && value !== '',
)
export const flag = that('true or false', (value) => typeof value === 'boolean')
export const timestamp = that('an ISO 8601 timestamp in UTC', isTimestamp)
export const fullUrl = that(
  'a full URL',
  (value) => typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value),
)

export function textLike(pattern: RegExp, expected: string): Shape {
  return that(expected, (value) => typeof value === 'string' && pattern.test(value))
}

/** One of some values. */
export function oneOf(...values: readonly unknown[]): Shape {
  return that(values.map((each) => JSON.stringify(each)).join(' or '), (value) =>
    values.includes(value),
  )
}

export function orNull(shape: Shape): Shape {
  return (value, path) => {
    const fault = value === null ? null : shape(value, path)
    return fault && { ...fault, expected: `${fault.expected}, or null` }
  }
}

/** An object with these members. Others are allowed, since a service may add some. */
export function object(members: Readonly<Record<string, Shape>>): Shape {
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { path, expected: 'an object', actual: value }
    }
    for (const [name, shape] of Object.entries(members)) {
      const at = path === '' ? name : `${path}.${name}`
      if (!Object.hasOwn(value, name)) {
        return { path: at, expected: 'the member', actual: undefined }
      }
      const fault = shape((value as Record<string, unknown>)[name], at)
      if (fault !== null) return fault
    }
    return null
  }
}

export function listOf(shape: Shape, length?: number): Shape {
  return (value, path) => {
    if (!Array.isArray(value) || (length !== undefined && value.length !== length)) {
      const expected =
        length === undefined
          ? 'an array'
          : `an array with ${length} ${length === 1 ? 'entry' : 'entries'}`
      return { path, expected, actual: value }
    }
    for (const [i, each] of value.entries()) {
      const fault = shape(each, `${path}[${i}]`)
      if (fault !== null) return fault
    }
    return null
  }
}

/** Requires a status and a JSON body of a shape. @returns the body */
export function expectBody(answer: Answer, status: number, shape: Shape): Record<string, unknown> {
  if (answer.status !== status) {
    throw new Mismatch(answer.request, `status ${status}`, describe(answer))
  }
  expectJson(answer)
  expectShape(answer.request, answer.body, shape)
  return answer.body as Record<string, unknown>
}

/** @param where the request that the value comes from */
export function expectShape(where: string, value: unknown, shape: Shape): void {
  const fault = shape(value, '')
  if (fault === null) return
  const at = fault.path === '' ? where : `${where}: ${fault.path}`
  throw new Mismatch(at, fault.expected, shown(fault.actual))
}

/** @param where the request, and the member of the response */
export function expectEqual(where: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Mismatch(where, shown(expected), shown(actual))
}

/** Requires an error with its code (contract section 7). */
export function expectError(answer: Answer, status: number, code: string): void {
  if (answer.status !== status || codeOf(answer) !== code) {
    throw new Mismatch(answer.request, `${status} ${code}`, describe(answer))
  }
}

/** Requires a refusal whose status and code the contract leaves open. */
export function expectRefusal(answer: Answer): void {
  if (answer.status < 400 || answer.status > 499) {
    throw new Mismatch(answer.request, 'a refusal (status 4xx)', describe(answer))
  }
}

function expectJson({ request, mediaType, body }: Answer): void {
  if (body === undefined) throw new Mismatch(request, 'a JSON body', `a body that is not JSON`)
  if (mediaType === 'application/json' || mediaType.endsWith('+json')) return
  throw new Mismatch(`${request}: Content-Type`, 'application/json', shown(mediaType))
}

/** The code of an error envelope, or null. */
export function codeOf({ body }: Answer): string | null {
  const error = (body as { error?: { code?: unknown } } | null | undefined)?.error
  return typeof error?.code === 'string' ? error.code : null
}

/** Status and code, or status and the beginning of the body. */
export function describe(answer: Answer): string {
  const { status, text } = answer
  return `${status} ${codeOf(answer) ?? text.slice(0, 120)}`.trimEnd()
}

/** A value as JSON, shortened. */
function shown(value: unknown): string {
  const json = value === undefined ? 'nothing' : JSON.stringify(value)
  return json.length > 160 ? `${json.slice(0, 160)}…` : json
}

function isTimestamp(value: unknown): boolean {
  if (typeof value !== 'string') return false
  const isIso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|\+00:00)$/.test(value)
  return isIso && !Number.isNaN(Date.parse(value))
}
