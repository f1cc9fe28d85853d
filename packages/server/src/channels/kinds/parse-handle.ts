import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { InvalidHandleError } from './kind.ts'

/** A URL with nothing but a host, as copied from a browser's address bar. */
const HOST_URL = /^https:\/\/([^/]+)\/?$/i
/** Any ASCII character that host names do not contain: percent signs, colons, brackets, white space, underscores. */
const NON_HOST_CHARACTER = /(?![A-Za-z0-9.-])\p{ASCII}/u
/** Letters, digits, hyphens (RFC 1123 section 2.1). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const MAX_DOMAIN_LENGTH = 253
/** On the public suffix list, but not open for registration: RFC 7686, RFC 3172. */
const SPECIAL_USE_DOMAINS: readonly string[] = ['onion', 'arpa']

export const DOMAIN_FIELD = {
  label: 'Domain',
  placeholder: 'agents.example.com',
  hint: 'A host name, or https:// and a host name. Subdomains and parent domains are not included.',
} as const

/**
 * Normalizes a domain: lower case, A-labels (UTS 46), no trailing dot.
 * @param text a domain, or an https URL with nothing but a host
 * @throws InvalidHandleError for IP addresses, single labels, ICANN public suffixes and names that cannot be registered
 */
export function parseDomain(text: string): string {
  const entered = text.trim()
  const host = HOST_URL.exec(entered)?.[1] ?? entered
  if (isAddress(host)) throw new InvalidHandleError('That is an IP address: enter a domain name.')
  const name = NON_HOST_CHARACTER.test(host) ? '' : stripTrailingDot(domainToASCII(host))
  if (isAddress(name)) throw new InvalidHandleError('That is an IP address: enter a domain name.')
  const labels = name.split('.')
  if (name.length > MAX_DOMAIN_LENGTH || !labels.every(isLabel)) {
    throw new InvalidHandleError(
      'Enter a domain name such as agents.example.com, without path, port or underscore.',
    )
  }
  assertRegistrable(name, labels)
  return name
}

function assertRegistrable(name: string, labels: readonly string[]): void {
  const { publicSuffix, isIcann, isPrivate } = publicSuffixList().parse(name, {
    allowPrivateDomains: true,
  })
  if (!(isIcann || isPrivate) || SPECIAL_USE_DOMAINS.includes(labels.at(-1) as string)) {
    throw new InvalidHandleError(
      `Nobody can hold ${name}: its ending is not one under which domains are registered.`,
    )
  }
  if (isIcann && publicSuffix === name) {
    throw new InvalidHandleError(`${name} belongs to a registry: enter a domain under it.`)
  }
}

/** Loaded for the first domain only: the list takes two megabytes. */
function publicSuffixList(): typeof import('tldts') {
  return createRequire(import.meta.url)('tldts')
}

/** Whether it is an IP address, in any notation that URLs accept: 127.0.0.1, [::1], 127.1, 0x7f000001, 2130706433. */
function isAddress(host: string): boolean {
  if (isIP(host.replace(/^\[|\]$/g, '')) !== 0) return true
  return isIP(URL.parse(`https://${host}/`)?.hostname ?? '') !== 0
}

function stripTrailingDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name
}

/** Whether it is a valid label. An invalid A-label does not change when it is decoded. */
function isLabel(label: string): boolean {
  if (!LABEL.test(label)) return false
  return !label.startsWith('xn--') || domainToUnicode(label) !== label
}

/** The length of the longest handle, a Matrix ID (https://spec.matrix.org/latest/appendices/#user-identifiers). */
const MAX_HANDLE_LENGTH = 255

/** Removes white space and invisible formatting characters, such as direction marks, from both ends. */
export function trimmed(text: string): string {
  return text.replace(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, '')
}

/**
 * Extracts the handle from what was entered: a handle with or without `@`, or the URL of a profile.
 * @param profileUrl matches profile URLs, with the handle as the first group
 */
export function extractHandle(text: string, profileUrl: RegExp): string {
  const entered = trimmed(text)
  return (profileUrl.exec(entered)?.[1] ?? entered).replace(/^@/, '')
}

/** @throws InvalidHandleError with the hint as message, if the handle does not match the form or is too long */
export function assertForm(handle: string, form: RegExp, hint: string): void {
  if (handle.length <= MAX_HANDLE_LENGTH && form.test(handle)) return
  throw new InvalidHandleError(hint)
}
