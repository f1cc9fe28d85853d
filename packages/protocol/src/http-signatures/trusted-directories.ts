import { decodeBase64Url } from '../encoding.ts'
import { keyFault, keyThumbprint } from '../public-key.ts'
import { KEY_DIRECTORY_PATH, keySetUrlOf } from './signature-agent.ts'
import type { SignatureAgent, SignatureRules } from './signed-request-types.ts'

/** A place with keys of signers that are no agents of the service, which a site has chosen to trust. */
export interface KeyDirectory extends SignatureRules {
  /**
   * As the site has written it: an origin, or the address of a key set or of a Client ID Metadata Document. Canonical, without the slash
   * after an origin.
   */
  readonly url: string
}

/** A directory with more keys than this is not read. */
export const MAX_DIRECTORY_KEYS = 64

/** A host name of two labels or more, not ending in a digit: no `localhost`, and no spelling of an address. */
const HOST_NAME =
  /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/**
 * The canonical form of a directory's address.
 * @param text an origin, whose keys are at the well-known path, or the address of a key set
 * @returns null unless it is https on port 443 at a host name of the public internet, without credentials and fragment, and
 *   written as it is sent but for capitals in the host, the default port and the slash after an origin
 */
export function directoryUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || url.protocol !== 'https:' || url.port !== '' || text.includes('#'))
    return null
  if (url.username !== '' || url.password !== '' || !HOST_NAME.test(url.hostname)) return null
  const written = text.replace(ORIGIN, (origin) => origin.toLowerCase().replace(/:443$/, ''))
  if (written === url.origin || written === `${url.origin}/`) return url.origin
  return written === url.href ? written : null
}

const ORIGIN = /^https:\/\/[^/?#]*/i

/** The address of a directory's key set. */
export function keySetOfDirectory({ url }: Pick<KeyDirectory, 'url'>): string {
  return url === new URL(url).origin ? new URL(KEY_DIRECTORY_PATH, url).href : url
}

/** The directory that a signature names, in whichever dialect; null if it is not listed. */
export function findDirectory(
  directories: readonly KeyDirectory[],
  agent: SignatureAgent,
): KeyDirectory | null {
  const keySet = keySetUrlOf(agent)
  return directories.find((each) => keySetOfDirectory(each) === keySet) ?? null
}

/**
 * The keys of a Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document), which has them in `jwks` or names their
 * address in `jwks_uri`.
 * @param json parsed
 * @param url at which it was read
 * @returns the key set, as parsed JSON, or its address, which has not been read; null if it is no such document of this address
 */
export function readClientDocument(
  json: unknown,
  url: string,
): { readonly keySet: unknown } | { readonly keySetUrl: string } | null {
  const document = (json ?? {}) as Readonly<Record<string, unknown>>
  const { client_id: id, jwks, jwks_uri: keySetUrl } = document
  // Who may publish a file on the host could else name the keys of another client.
  if (id !== url || (jwks === undefined) === (keySetUrl === undefined)) return null
  if (keySetUrl === undefined) return { keySet: jwks }
  return typeof keySetUrl === 'string' && directoryUrl(keySetUrl) === keySetUrl
    ? { keySetUrl }
    : null
}

/** A key of a key set, with the time in which it is valid, in milliseconds since 1970. */
export interface DirectoryKey {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  readonly notBefore: number
  readonly expires: number
}

/**
 * Reads a JSON Web Key Set (RFC 7517). Ignores what is no usable Ed25519 key, and the `kid` of each: a key is found by its own
 * thumbprint.
 * @param json parsed
 * @returns the keys by thumbprint; null if it is no key set, or one of more than 64 keys
 */
export function readKeySet(json: unknown): ReadonlyMap<string, DirectoryKey> | null {
  const { keys } = (json ?? {}) as { readonly keys?: unknown }
  if (!Array.isArray(keys) || keys.length > MAX_DIRECTORY_KEYS) return null
  const found = new Map<string, DirectoryKey>()
  for (const each of keys as readonly unknown[]) {
    const jwk = (each ?? {}) as Readonly<Record<string, unknown>>
    const { kty, crv, x, use = 'sig', nbf = 0, exp = Number.MAX_SAFE_INTEGER } = jwk
    const isEd25519 = kty === 'OKP' && crv === 'Ed25519' && use === 'sig' && typeof x === 'string'
    const key = isEd25519 && x.length === 43 ? decodeBase64Url(x) : null
    const [notBefore, expires] = [millisecondsOf(nbf), millisecondsOf(exp)]
    if (key === null || keyFault(key) !== null || notBefore === null || expires === null) continue
    found.set(keyThumbprint(key), { publicKey: key, notBefore, expires })
  }
  return found
}

/** From here on, a time is one in milliseconds: directories in use have both. In seconds, it would be the year 5138. */
const MILLISECONDS_FROM = 100_000_000_000

/** @param time `nbf` or `exp` of a key, in seconds or milliseconds since 1970. @returns null if it is no time */
function millisecondsOf(time: unknown): number | null {
  if (typeof time !== 'number' || !Number.isFinite(time)) return null
  return time < MILLISECONDS_FROM ? time * 1000 : time
}
