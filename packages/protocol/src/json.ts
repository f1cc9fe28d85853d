/** Parsers differ in how deep they read, so nothing that we verify is nested deeper. */
const MAX_DEPTH = 32
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses JSON (RFC 8259) in UTF-8, without a byte order mark.
 * @throws SyntaxError, TypeError if it is none, or nested deeper than 32 levels
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  const value: unknown = JSON.parse(UTF_8.decode(bytes))
  if (isDeeperThan(value, MAX_DEPTH)) throw new SyntaxError(`deeper than ${MAX_DEPTH} levels`)
  return value
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((each) => isDeeperThan(each, levels - 1))
}
