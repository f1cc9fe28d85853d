import { createHash } from 'node:crypto'
import { EC256, type PlatformKey, RSA } from './keys.ts'
import { PAYLOADS, type RuleName } from './platforms.ts'

const base64Url = (data: string | Uint8Array) => Buffer.from(data).toString('base64url')

export interface TokenParts {
  /** Members of the header that differ; undefined: without it. */
  readonly header?: object
  /** The whole header. */
  readonly rawHeader?: string
  /** The whole payload. */
  readonly raw?: string | Uint8Array
  readonly key?: PlatformKey
  readonly changed?: (signature: Uint8Array) => Uint8Array
}

const HEADERS: Readonly<Partial<Record<RuleName, object>>> = {
  kubernetes: { alg: 'RS256', kid: 'k8s-1' },
  namespace: { alg: 'RS256', kid: 'k8s-1' },
  github: { typ: 'JWT', alg: 'RS256', x5t: 'AAAA', kid: 'github-1' },
  githubRuns: { typ: 'JWT', alg: 'RS256', x5t: 'AAAA', kid: 'github-1' },
  spiffe: { alg: 'ES256', kid: 'svid', typ: 'JWT' },
  keys: { alg: 'RS256', kid: 'rsa' },
}

/** A token for a rule. @param claims replaces members of its payload; undefined: without it */
export function token(name: RuleName, claims: object = {}, parts: TokenParts = {}): string {
  const { header = {}, key = name === 'spiffe' ? EC256 : RSA, changed = (bytes) => bytes } = parts
  const head = { ...(HEADERS[name] ?? { alg: 'RS256', typ: 'JWT' }), ...header } as { alg: string }
  const payload = parts.raw ?? JSON.stringify({ ...PAYLOADS[name], ...claims })
  const signed = `${base64Url(parts.rawHeader ?? JSON.stringify(head))}.${base64Url(payload)}`
  return `${signed}.${base64Url(changed(key.sign(String(head.alg), Buffer.from(signed))))}`
}

/** SHA-256 of a token up to its last dot. */
export const hashOf = (text: string) =>
  createHash('sha256')
    .update(text.slice(0, text.lastIndexOf('.')))
    .digest('base64url')

/** Arrays in arrays. */
export function nested(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels))
}
