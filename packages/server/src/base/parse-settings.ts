import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isEmailAddress, isLoopback } from '@countersign/protocol'

/* Each parser takes the text of a setting, and returns its value, or null if the text is invalid. */

export function matching(pattern: RegExp) {
  return (text: string) => (pattern.test(text) ? text : null)
}

export function oneOf<T extends string>(values: readonly T[]) {
  return (text: string) => values.find((each) => each === text) ?? null
}

export function listOf<T extends string>(values: readonly T[]) {
  return (text: string): T[] | null => {
    const names = split(text)
    const known = values.filter((each) => names.includes(each))
    return known.length === new Set(names).size ? known : null
  }
}

function split(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

export function parseInteger(text: string, least: number, most: number): number | null {
  if (!/^\d{1,9}$/.test(text)) return null
  const value = Number(text)
  return value >= least && value <= most ? value : null
}

const DURATION_UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** @returns milliseconds, at most `most`; the text is a number with a unit, or 0 */
export function parseDuration(text: string, most: number, least = 0): number | null {
  const [, number = '', unit = 's'] = /^(\d{1,9})([smhd])$/.exec(text === '0' ? '0s' : text) ?? []
  if (number === '') return null
  const value = Number(number) * DURATION_UNITS[unit as keyof typeof DURATION_UNITS]
  return value >= least && value <= most ? value : null
}

export function numberOrOff(least: number, most: number) {
  return (text: string): { value: number | null } | null => {
    if (text === 'off') return { value: null }
    const value = parseInteger(text, least, most)
    return value === null ? null : { value }
  }
}

export function parseBaseUrl(text: string): URL | null {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  // Plain http would reveal session cookies on the network, and browsers disable passkeys there.
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return null
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return null
  return url.username === '' && url.password === '' ? url : null
}

export function parseDatabaseUrl(text: string) {
  if (/^postgres(?:ql)?:/.test(text)) return parsePostgresUrl(text)
  const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1]
  if (path === undefined || path.includes('?')) return null
  return { kind: 'sqlite', file: resolve(path) } as const
}

/**
 * Accepts several hosts, separated by commas: the primary and its standbys. Requires the name of a database, because
 * PostgreSQL would otherwise default to the user's name.
 */
function parsePostgresUrl(text: string) {
  const [, before, hosts, after] = /^([a-z]+:\/\/(?:[^@/?]*@)?)([^/?@]+)(\/.*)$/.exec(text) ?? []
  const urls = hosts?.split(',').map((host) => URL.parse(`${before}${host}${after}`))
  const valid = urls?.every((url) => url?.hostname && /^\/[^/]+$/.test(url.pathname))
  return valid ? ({ kind: 'postgres', url: text } as const) : null
}

export function parseReplicaUrl(text: string): { url: string | null } | null {
  return text === '' ? { url: null } : parsePostgresUrl(text)
}

export function parseResolvers(text: string): string[] | null {
  const servers = split(text)
  const endpoints = servers.map((server) => {
    const [, address = server, port = '53'] =
      /^\[(.+)\]:(\d+)$/.exec(server) ?? /^([\d.]+):(\d+)$/.exec(server) ?? []
    const valid = isIP(address) !== 0 && parseInteger(port, 1, 65_535) !== null
    return valid ? `${address.toLowerCase()} ${Number(port)}` : null
  })
  // A server listed twice would have two votes.
  const areDistinct = new Set(endpoints).size === endpoints.length
  return servers.length > 0 && areDistinct && !endpoints.includes(null) ? servers : null
}

export function parseLoopbackHosts(text: string): Map<string, number> | null {
  const pairs = split(text).map((pair) => /^([a-z0-9.-]+):(\d+)$/.exec(pair))
  const hosts = new Map(
    pairs.map((pair) => [pair?.[1] ?? '', parseInteger(pair?.[2] ?? '', 1, 65_535) ?? 0]),
  )
  return hosts.has('') || [...hosts.values()].includes(0) ? null : hosts
}

export function parsePrivateHosts(text: string): ReadonlySet<string> | null {
  const hosts = split(text)
  // As URL writes them, so that they can be compared with the host of a URL.
  const isHost = (host: string) => URL.parse(`https://${host}/`)?.host === host
  return hosts.every(isHost) ? new Set(hosts) : null
}

export function parseCidrs(text: string): string[] | null {
  const ranges = split(text)
  const valid = ranges.every((range) => {
    const [address, bits, ...more] = range.split('/')
    const version = isIP(address as string)
    if (version === 0 || more.length > 0) return false
    // A range of 0 bits would trust every caller, so anyone could forge an address.
    return bits === undefined || parseInteger(bits, 1, version === 4 ? 32 : 128) !== null
  })
  return valid ? ranges : null
}

/** Allows `quota` requests in each window. */
export interface RateSetting {
  readonly quota: number
  readonly windowMs: number
}

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** @param defaults of all limits, by name; any other name is invalid */
export function parseRateLimits(defaults: Readonly<Record<string, string>>) {
  return (text: string): ReadonlyMap<string, RateSetting | null> | null => {
    if (text === 'off') return new Map(Object.keys(defaults).map((name) => [name, null]))
    const entries = split(text).map((each) => /^([a-z-]+)=(.+)$/.exec(each))
    const names = entries.map((each) => each?.[1] ?? '')
    const isKnown = names.every((name) => Object.hasOwn(defaults, name))
    if (!isKnown || new Set(names).size < names.length) return null
    const texts: Record<string, string> = { ...defaults }
    for (const [, name = '', rate = ''] of entries as RegExpExecArray[]) texts[name] = rate
    const rates = Object.entries(texts).map(([name, rate]) => [name, parseRate(rate)] as const)
    return rates.some(([, rate]) => rate === undefined) ? null : new Map(rates as never)
  }
}

/** @returns null for `off`, undefined for invalid text */
function parseRate(text: string): RateSetting | null | undefined {
  if (text === 'off') return null
  const [, number = '', unit] = /^(\d+)\/([smhd])$/.exec(text) ?? []
  const quota = parseInteger(number, 1, 1_000_000)
  if (quota === null) return undefined
  return { quota, windowMs: UNIT_MS[unit as keyof typeof UNIT_MS] }
}

export function parseRedisUrl(text: string): { url: string | null } | null {
  if (text === '') return { url: null }
  const url = URL.parse(text)
  if (url === null || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '')
    return null
  return /^(\/\d*)?$/.test(url.pathname) && url.search === '' ? { url: text } : null
}

/** An SMTP server. */
export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (smtps:); otherwise STARTTLS. */
  readonly secure: boolean
  readonly auth: { readonly user: string; readonly pass: string } | null
}

export function parseSmtpUrl(text: string): { server: SmtpServer | null } | null {
  if (text === '') return { server: null }
  const url = URL.parse(text)
  if (url === null || !['smtp:', 'smtps:'].includes(url.protocol)) return null
  const { hostname, port, username, password, pathname, search, hash } = url
  if (hostname === '' || !['', '/'].includes(pathname) || search !== '' || hash !== '') return null
  if ((username === '') !== (password === '')) return null
  const secure = url.protocol === 'smtps:'
  try {
    const auth =
      username === ''
        ? null
        : { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
    const host = hostname.replace(/^\[(.+)\]$/, '$1')
    return { server: { host, port: Number(port) || (secure ? 465 : 587), secure, auth } }
  } catch {
    return null
  }
}

export function parseMailFrom(text: string): { address: string | null } | null {
  if (text === '') return { address: null }
  return isEmailAddress(text) ? { address: text } : null
}
