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
    return bits === undefined || parseInteger(bits, 0, version === 4 ? 32 : 128) !== null
  })
  return valid ? ranges : null
}
