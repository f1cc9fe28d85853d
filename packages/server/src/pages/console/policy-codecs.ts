import {
  LEVELS,
  type POLICY_FIELDS,
  type ROUTE_FIELDS,
  type RULE_FIELDS,
} from '@countersign/gateway/internal'

/** Reads the value of a part of a policy from the fields of the form, and writes it into them. */
export interface Codec {
  /** The names of the fields. @param name the place in the policy, such as `routes.0.levels` */
  names(name: string): readonly string[]
  /** @returns undefined if nothing is entered. Values that are no number or no choice are passed on as they are */
  parse(text: (name: string) => string, name: string): unknown
  /** @returns the places that no field can show */
  format(value: unknown, name: string, write: (name: string, text: string) => void): string[]
}

/** What a field says in place of null: no restriction. */
export const ANY = 'any'
/** What a field says in place of an empty list, where an empty field stands for the rest of the policy. */
export const NONE = 'none'
/** What `refusal.status` says for 401 or 403, as the reason demands. */
export const DEFAULT_STATUS = 'default'

/** @param format returns null if a field cannot show the value */
function single(
  parse: (text: string) => unknown,
  format: (value: unknown) => string | null,
): Codec {
  return {
    names: (name) => [name],
    parse: (text, name) => (text(name) === '' ? undefined : parse(text(name))),
    format(value, name, write) {
      const text = format(value)
      if (text === null || text === '') return [name]
      write(name, text)
      return []
    },
  }
}

/** Browsers remove line breaks, and the form spaces at the ends. */
function isLine(value: unknown): value is string {
  return typeof value === 'string' && value.trim() === value && !/\p{Cc}/u.test(value)
}

const word = single(
  (text) => text,
  (value) => (isLine(value) ? value : null),
)

const number = single(Number, (value) => (typeof value === 'number' ? String(value) : null))

const flag = single(
  (text) => (text === 'true' ? true : text === 'false' ? false : text),
  (value) => (typeof value === 'boolean' ? String(value) : null),
)

function list(separator: string): Codec {
  const isItem = (item: unknown) => typeof item === 'string' && /^[^\s,\p{Cc}]+$/u.test(item)
  return single(
    (text) => (text === NONE ? [] : itemsIn(text)),
    (value) => {
      if (!Array.isArray(value) || !value.every(isItem)) return null
      const text = value.join(separator)
      if (text === NONE || text === ANY) return null
      return value.length === 0 ? NONE : text
    },
  )
}

/** The entries of a list, which commas or white space separate. */
export function itemsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean)
}

const words = list(', ')
const lines = list('\n')

function nullable(codec: Codec): Codec {
  return {
    names: codec.names,
    parse: (text, name) => (text(name) === ANY ? null : codec.parse(text, name)),
    format(value, name, write) {
      if (value !== null) return codec.format(value, name, write)
      write(name, ANY)
      return []
    },
  }
}

/** What is typed in lower case counts too. */
function upperCase(codec: Codec): Codec {
  return { ...codec, parse: (text, name) => codec.parse((each) => text(each).toUpperCase(), name) }
}

/** An object. Its members are fields of their own. */
function members(codecs: Readonly<Record<string, Codec>>): Codec {
  const all = Object.entries(codecs)
  return {
    names: (name) => all.flatMap(([key, codec]) => codec.names(below(name, key))),
    parse(text, name) {
      const values = all.map(([key, codec]) => [key, codec.parse(text, below(name, key))])
      const given = values.filter(([, value]) => value !== undefined)
      return given.length === 0 ? undefined : Object.fromEntries(given)
    },
    format(value, name, write) {
      if (!isRecord(value)) return [name]
      return Object.entries(value).flatMap(([key, member]) => {
        const codec = Object.hasOwn(codecs, key) ? codecs[key] : undefined
        return codec?.format(member, below(name, key), write) ?? [below(name, key)]
      })
    },
  }
}

function below(name: string, key: string): string {
  return name === '' ? key : `${name}.${key}`
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A refusal replaces that of the rest of the policy as a whole. */
const refusal: Codec = {
  names: (name) => [`${name}.status`, `${name}.message`],
  parse(text, name) {
    const [status, message] = [text(`${name}.status`), text(`${name}.message`)]
    if (status === '' && message === '') return undefined
    const given = {
      ...(status !== '' && status !== DEFAULT_STATUS && { status: Number(status) }),
      ...(message !== '' && { message }),
    }
    return Object.keys(given).length === 0 ? null : given
  },
  format(value, name, write) {
    if (value !== null && !isRecord(value)) return [name]
    const { status, ...rest } = value ?? {}
    if (status === undefined) write(`${name}.status`, DEFAULT_STATUS)
    const others = members({ status: number, message: word })
    return others.format(status === undefined ? rest : { status, ...rest }, name, write)
  },
}

/** Text of several lines, as browsers send it. */
const text = single(
  (value) => value.replaceAll('\r\n', '\n'),
  (value) =>
    typeof value === 'string' && /^(?:[^\p{Cc}]|\n|\t)*$/u.test(value) ? value.trim() : null,
)

/** An object with one text. */
const requireLogged: Codec = {
  names: (name) => [`${name}.policy`],
  parse(read, name) {
    if (read(`${name}.policy`) === NONE) return null
    const policy = text.parse(read, `${name}.policy`)
    return policy === undefined ? undefined : { policy }
  },
  format(value, name, write) {
    if (value !== null) return members({ policy: text }).format(value, name, write)
    write(`${name}.policy`, NONE)
    return []
  },
}

const RULE_CODECS: Readonly<Record<keyof typeof RULE_FIELDS, Codec>> = {
  levels: members(Object.fromEntries(LEVELS.map((each) => [each, word]))),
  statuses: words,
  minimumGrade: nullable(word),
  minimumKeyAgeSeconds: number,
  requireLogged,
  identityMethods: nullable(words),
  allow: lines,
  deny: lines,
  requireProof: flag,
  refusal,
  unreachable: word,
  maxStaleSeconds: number,
}

/** Fields that the form does not have: the console decides by its own agents, and follows no issuer. */
export const OFFLINE_FIELDS: readonly string[] = ['trust', 'offline']

/** Without `directories`, of which the form has as many as there are, and without what it does not have. */
export const POLICY_CODECS: Readonly<
  Record<Exclude<keyof typeof POLICY_FIELDS, 'directories' | 'trust' | 'offline'>, Codec>
> = {
  mode: word,
  limit: members({ requests: number, seconds: number }),
  cacheSeconds: number,
  preflight: word,
}

const ROUTE_CODECS: Readonly<Record<keyof typeof ROUTE_FIELDS, Codec>> = {
  path: word,
  methods: nullable(upperCase(words)),
}

export const POLICY = members({ ...RULE_CODECS, ...POLICY_CODECS })
export const ROUTE = members({ ...ROUTE_CODECS, ...RULE_CODECS })
export const DIRECTORY = members({ url: word, profile: word, maxLifetimeSeconds: number })
