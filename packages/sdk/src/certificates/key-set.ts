import type { IssuerJwk } from './types.ts'

/** The public keys of an issuer, as its `/.well-known/jwks.json` lists them. */
export interface IssuerKeys {
  readonly keys: readonly IssuerJwk[]
}

const MAX_KEYS = 64
const COORDINATE = /^[A-Za-z0-9_-]{43}$/

/**
 * Reads a key set. Keys of other types, and those for other uses than signatures, are left out.
 * @returns null if it is no key set, or two of its keys have one `kid`
 */
export function readIssuerKeySet(value: unknown): readonly IssuerJwk[] | null {
  const { keys } = (value ?? {}) as { keys?: unknown }
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) return null
  const read = keys.flatMap((each) => readJwk(each) ?? [])
  return new Set(read.map(({ kid }) => kid)).size === read.length ? read : null
}

function readJwk(value: unknown): IssuerJwk | null {
  if (typeof value !== 'object' || value === null) return null
  const { kty, crv, x, y, kid, use = 'sig' } = value as Readonly<Record<string, unknown>>
  if (typeof kid !== 'string' || use !== 'sig' || !isCoordinate(x)) return null
  if (kty === 'OKP' && crv === 'Ed25519') return { kty, crv, x, kid, use }
  return kty === 'EC' && crv === 'P-256' && isCoordinate(y) ? { kty, crv, x, y, kid, use } : null
}

function isCoordinate(value: unknown): value is string {
  return typeof value === 'string' && COORDINATE.test(value)
}
