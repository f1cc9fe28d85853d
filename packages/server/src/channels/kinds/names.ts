import { isIP } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { parse } from 'tldts'
import { HandleRefusal } from './kind.ts'

/** What browsers copy out of their address bar, as long as it says nothing but the host. */
const BARE_URL = /^https:\/\/([^/]+)\/?$/i
/** Every ASCII character that is in no host name: percent signs, ports, brackets, white space, underscores. */
const FOREIGN = /(?![A-Za-z0-9.-])\p{ASCII}/u
/** Letters, digits, hyphens (RFC 1123 section 2.1). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const LONGEST_DOMAIN = 253
/** In the list of public suffixes, but nobody's to register: RFC 7686, RFC 3172. */
const NOT_FOR_NAMES: readonly string[] = ['onion', 'arpa']

export const DOMAIN_FIELD = {
  label: 'Domain',
  placeholder: 'agents.example.com',
  hint: 'A host name, or https:// and a host name. It does not stand for its subdomains, nor for the domain above it.',
} as const

/**
 * The one spelling of a domain that somebody can hold: lower case, A-labels (UTS 46), no dot at the end.
 * @throws HandleRefusal for addresses, single labels, ICANN's public suffixes and what no registry hands out
 */
export function parseDomain(text: string): string {
  const entered = text.trim()
  const host = BARE_URL.exec(entered)?.[1] ?? entered
  if (isAddress(host)) throw new HandleRefusal('That is an IP address: enter a domain name.')
  const name = FOREIGN.test(host) ? '' : withoutDot(domainToASCII(host))
  if (isAddress(name)) throw new HandleRefusal('That is an IP address: enter a domain name.')
  const labels = name.split('.')
  if (name.length > LONGEST_DOMAIN || !labels.every(isLabel)) {
    throw new HandleRefusal(
      'Enter a domain name such as agents.example.com, without path, port or underscore.',
    )
  }
  requireHeld(name, labels)
  return name
}

function requireHeld(name: string, labels: readonly string[]): void {
  const { publicSuffix, isIcann, isPrivate } = parse(name, { allowPrivateDomains: true })
  if (!(isIcann || isPrivate) || NOT_FOR_NAMES.includes(labels.at(-1) as string)) {
    throw new HandleRefusal(
      `Nobody can hold ${name}: its ending is not one under which domains are registered.`,
    )
  }
  if (isIcann && publicSuffix === name) {
    throw new HandleRefusal(`${name} belongs to a registry: enter a domain under it.`)
  }
}

/** 127.0.0.1, [::1], and what URLs take for the former: 127.1, 0x7f000001, 2130706433. */
function isAddress(host: string): boolean {
  if (isIP(host.replace(/^\[|\]$/g, '')) !== 0) return true
  return isIP(URL.parse(`https://${host}/`)?.hostname ?? '') !== 0
}

function withoutDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name
}

/** An A-label that stands for nothing stays as it is when it is decoded. */
function isLabel(label: string): boolean {
  if (!LABEL.test(label)) return false
  return !label.startsWith('xn--') || domainToUnicode(label) !== label
}

/** The longest handle there is: a Matrix ID (https://spec.matrix.org/latest/appendices/#user-identifiers). */
const LONGEST_HANDLE = 255

/**
 * What somebody has entered, without the white space and the invisible marks of writing direction that are copied along
 * with a handle.
 */
export function trimmed(text: string): string {
  return text.replace(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, '')
}

/**
 * What somebody has entered, without the address of the profile around it, and without the `@` before it.
 * @param address of a profile, with the handle as its first group
 */
export function bareHandle(text: string, address: RegExp): string {
  const entered = trimmed(text)
  return (address.exec(entered)?.[1] ?? entered).replace(/^@/, '')
}

/** @throws HandleRefusal with the hint where the handle has another form */
export function requireForm(handle: string, form: RegExp, hint: string): void {
  if (handle.length <= LONGEST_HANDLE && form.test(handle)) return
  throw new HandleRefusal(hint)
}
