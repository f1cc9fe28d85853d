import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isLoopback } from '@countersign/protocol'

/** How the texts of settings are read: null where they cannot be. */

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

export function parseMetricsPort(text: string): { port: number | null } | null {
  if (text === 'off') return { port: null }
  const port = parseInteger(text, 0, 65_535)
  return port === null ? null : { port }
}

export function parseBaseUrl(text: string): URL | null {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  // Whoever is on the way of plain http takes the session's cookie, and browsers allow no passkey there.
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
 * With one host or several, separated by commas, of which one takes writes. It names a database, since whoever leaves
 * that out gets one by the name of the user.
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
  const places = servers.map((server) => {
    const [, address = server, port = '53'] =
      /^\[(.+)\]:(\d+)$/.exec(server) ?? /^([\d.]+):(\d+)$/.exec(server) ?? []
    const valid = isIP(address) !== 0 && parseInteger(port, 1, 65_535) !== null
    return valid ? `${address.toLowerCase()} ${Number(port)}` : null
  })
  // One server twice would outvote another.
  const distinct = new Set(places).size === places.length
  return servers.length > 0 && distinct && !places.includes(null) ? servers : null
}

export function parseLoopbackHosts(text: string): Map<string, number> | null {
  const pairs = split(text).map((pair) => /^([a-z0-9.-]+):(\d+)$/.exec(pair))
  const hosts = new Map(
    pairs.map((pair) => [pair?.[1] ?? '', parseInteger(pair?.[2] ?? '', 1, 65_535) ?? 0]),
  )
  return hosts.has('') || [...hosts.values()].includes(0) ? null : hosts
}

export function parseCidrs(text: string): string[] | null {
  const ranges = split(text)
  const valid = ranges.every((range) => {
    const [address, bits, ...more] = range.split('/')
    const version = isIP(address as string)
    if (version === 0 || more.length > 0) return false
    // A range of 0 bits is everyone: each caller could say what its address is.
    return bits === undefined || parseInteger(bits, 1, version === 4 ? 32 : 128) !== null
  })
  return valid ? ranges : null
}

/** So many in so many milliseconds. */
export interface RateSetting {
  readonly quota: number
  readonly windowMs: number
}

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000 } as const

/** @param defaults by name, and what is not in them cannot be set */
export function parseRateLimits(defaults: Readonly<Record<string, string>>) {
  return (text: string): ReadonlyMap<string, RateSetting | null> | null => {
    const given = split(text).map((each) => /^([a-z-]+)=(.+)$/.exec(each))
    const names = given.map((each) => each?.[1] ?? '')
    const isKnown = names.every((name) => Object.hasOwn(defaults, name))
    if (!isKnown || new Set(names).size < names.length) return null
    const texts: Record<string, string> = { ...defaults }
    for (const [, name = '', rate = ''] of given as RegExpExecArray[]) texts[name] = rate
    const rates = Object.entries(texts).map(([name, rate]) => [name, parseRate(rate)] as const)
    return rates.some(([, rate]) => rate === undefined) ? null : new Map(rates as never)
  }
}

/** @returns null for `off`, undefined for what is no rate */
function parseRate(text: string): RateSetting | null | undefined {
  if (text === 'off') return null
  const [, number = '', unit] = /^(\d+)\/([smh])$/.exec(text) ?? []
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
