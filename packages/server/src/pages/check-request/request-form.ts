/** What is entered on the page, as typed. */
export interface RequestForm {
  /** A curl command, a raw HTTP request, a HAR entry or headers. Empty: the sample. */
  readonly request: string
  /** Method and URL, if `request` is headers alone. */
  readonly line: string
  /** The origin of the site that received the request. Empty: that of the URL. */
  readonly origin: string
  /** The signer's public key, in place of the one that the signature names. Empty: that one is looked up. */
  readonly key: string
  /** When to check, such as `2026-11-27T19:50:40Z`. Empty: now. */
  readonly at: string
  /** The name of one of `BREAKS`. Empty: the request is checked as it was pasted. */
  readonly break: string
}

export type FormField = keyof RequestForm

const NAMES: readonly FormField[] = ['request', 'line', 'origin', 'key', 'at', 'break']

/** Something that was entered cannot be used. The message is a sentence for the visitor. */
export class EntryFault extends Error {
  override readonly name = 'EntryFault'
  readonly field: FormField

  constructor(field: FormField, message: string) {
    super(message)
    this.field = field
  }
}

/** @param field the value of a field by its name; empty if it was not sent */
export function readRequestForm(field: (name: string) => string): RequestForm {
  const text = (name: FormField) =>
    name === 'request' ? field(name).replaceAll('\r\n', '\n') : field(name).trim()
  return Object.fromEntries(NAMES.map((name) => [name, text(name)])) as unknown as RequestForm
}

/** @param query the parsed query of the address, which is a link of the page or empty */
export function formOfQuery(query: unknown): RequestForm {
  const given = query as Readonly<Record<string, unknown>>
  return readRequestForm((name) => {
    const value = Object.hasOwn(given, name) ? given[name] : ''
    return typeof value === 'string' ? value : ''
  })
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** @returns milliseconds since 1970; null: now. @throws EntryFault */
export function timeOf({ at }: Pick<RequestForm, 'at'>): number | null {
  if (at === '') return null
  const time = TIME.test(at) ? Date.parse(at) : Number.NaN
  if (!Number.isNaN(time)) return time
  throw new EntryFault('at', 'Enter a time in UTC, such as 2026-11-27T19:50:40Z.')
}

/** @param time milliseconds since 1970 */
export function timeText(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z`
}
