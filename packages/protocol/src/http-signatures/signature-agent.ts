import { parseDidOrTail, type Tail } from '../did.ts'
import type { Naming } from '../naming.ts'
import type { Component } from './components.ts'
import type { SignatureAgent, SignatureAgentDialect } from './signed-request-types.ts'
import {
  isInnerList,
  parseDictionary,
  parseStringItem,
  StructuredFieldError,
  serializeString,
} from './structured-fields.ts'

/** The dialects in which agents can sign, the default one first. */
export const SIGNATURE_AGENT_DIALECTS = [
  'ietf',
  'legacy',
  'origin',
  'ucp',
] as const satisfies readonly SignatureAgentDialect[]

/** Where a signer that names only its origin publishes its keys (draft-meunier-http-message-signatures-directory). */
export const KEY_DIRECTORY_PATH = '/.well-known/http-message-signatures-directory'

/** The address of the signer's key set; in the dialect `cimd`, of the document that names or contains it. */
export function keySetUrlOf({ dialect, url }: SignatureAgent): string {
  return dialect === 'legacy' || dialect === 'origin' ? new URL(KEY_DIRECTORY_PATH, url).href : url
}

const AGENT_KEY_SET = '/jwks.json'

/** Where a service publishes the key set of an agent. @param issuer the origin of the service */
export function agentKeySetUrl(issuer: string, tail: string): string {
  return `${issuer}/agent/${tail}${AGENT_KEY_SET}`
}

/**
 * The agent whose key set is at an address, which may have its DID in place of the tail.
 * @param issuer the origin of the service that publishes the key sets
 * @returns null for any other address
 */
export function agentOfKeySetUrl(naming: Naming, issuer: string, url: string): Tail | null {
  const prefix = `${issuer}/agent/`
  if (!url.startsWith(prefix) || !url.endsWith(AGENT_KEY_SET)) return null
  return parseDidOrTail(naming, url.slice(prefix.length, -AGENT_KEY_SET.length))
}

/**
 * The `Signature-Agent` field of a signer, and the component that covers it.
 * @param label the key of the member in the dictionary
 * @throws StructuredFieldError if the address does not fit the dialect
 */
export function signatureAgentField(
  { dialect, url }: SignatureAgent,
  label: string,
): { readonly field: string; readonly component: Component } {
  const address = parsedUrl(url)
  if (address === null || !fits(dialect, address, url)) {
    throw new StructuredFieldError(`the address of a key set does not fit the dialect ${dialect}`)
  }
  const text = serializeString(url)
  if (dialect === 'legacy')
    return { field: text, component: { name: 'signature-agent', key: null } }
  const type = dialect === 'ucp' ? ';type=jwks_uri' : dialect === 'cimd' ? ';type=cimd' : ''
  return { field: `${label}=${text}${type}`, component: { name: 'signature-agent', key: label } }
}

/** The dialects by the parameter `type` (draft-meunier-webbotauth-httpsig-protocol, Key Distribution and Discovery). */
const DIALECT_OF_TYPE: ReadonlyMap<unknown, SignatureAgentDialect> = new Map([
  ['directory', 'origin'],
  ['jwks_uri', 'ucp'],
  ['cimd', 'cimd'],
])

/**
 * Reads the `Signature-Agent` field of a request and detects its dialect. Parameters other than `type` are ignored.
 * @param key that of the covered component; null for the bare string of `legacy`
 * @returns null if the member has a type that is not known, or an address that its type does not allow: it must be ignored, and
 *   nothing may be guessed
 * @throws StructuredFieldError if the field does not contain an address in one of the dialects
 */
export function parseSignatureAgent(field: string, key: string | null): SignatureAgent | null {
  // Nothing that parses has a line break, so equal texts are equal pairs.
  const text = key === null ? `0${field}` : `1${key}\n${field}`
  const known = lastParsed.get(text)
  if (known !== undefined) return known
  const agent = parse(field, key)
  if (agent === null || text.length > MAX_REMEMBERED_LENGTH) return agent
  if (lastParsed.size >= MAX_REMEMBERED) lastParsed.clear()
  lastParsed.set(text, agent)
  return agent
}

/** An agent sends the same field with each request. Strangers can fill this: then fields are parsed again. */
const lastParsed = new Map<string, SignatureAgent>()
const MAX_REMEMBERED = 1_000
const MAX_REMEMBERED_LENGTH = 256

function parse(field: string, key: string | null): SignatureAgent | null {
  if (key === null) return checked('legacy', parseStringItem(field))
  const member = parseDictionary(field).get(key)
  if (member === undefined || isInnerList(member) || member.item.type !== 'string') {
    throw new StructuredFieldError('Signature-Agent has no such member')
  }
  const url = member.item.value
  const type = member.params.get('type')
  if (type === undefined) return checked(null, url)
  const dialect = type.type === 'token' ? DIALECT_OF_TYPE.get(type.value) : undefined
  if (dialect === undefined) return null
  if (dialect !== 'origin') return checked(dialect, url)
  const address = parsedUrl(url)
  return address !== null && isOrigin(address, url) ? checked(dialect, url) : null
}

/** @param dialect null: `origin` for an origin, else `ietf` */
function checked(dialect: SignatureAgentDialect | null, url: string): SignatureAgent {
  const address = parsedUrl(url)
  if (address !== null) {
    const known = dialect ?? (isOrigin(address, url) ? 'origin' : 'ietf')
    if (fits(known, address, url)) return { dialect: known, url }
  }
  throw new StructuredFieldError('Signature-Agent is not a canonical https address')
}

/** Only the spelling that `URL` produces, so that equal addresses are equal texts. @param url the parsed text */
function fits(dialect: SignatureAgentDialect, url: URL, text: string): boolean {
  const { protocol, hostname } = url
  const secure = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
  if (!secure || url.username !== '' || url.password !== '' || text.includes('#')) return false
  if (!HOST.test(hostname)) return false
  return isOrigin(url, text) || (dialect !== 'legacy' && dialect !== 'origin' && url.href === text)
}

/** `URL` takes more, such as `a!b`, which no name of a host has. */
const HOST = /^(?:\[[0-9a-f:]+\]|[a-z0-9._-]+)$/

function isOrigin({ origin, hostname }: URL, text: string): boolean {
  return HOST.test(hostname) && (text === origin || text === `${origin}/`)
}

function parsedUrl(text: string): URL | null {
  try {
    return new URL(text)
  } catch {
    return null
  }
}

/** Whether a host name can only be reached from this machine: localhost, 127.0.0.0/8, ::1. @param hostname as in `URL.hostname` */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || IPV4.test(hostname)
}

/** `URL.hostname` has IPv4 addresses in canonical form. */
const IPV4 = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/
