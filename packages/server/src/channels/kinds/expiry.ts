const RFC_3339 =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/**
 * What is wrong with the expiry that a proof carries, so that it proves nothing; null: nothing.
 * @param now milliseconds since 1970
 */
export function expiryFault(expiry: unknown, now: number): string | null {
  if (typeof expiry !== 'string') return 'without an expiry'
  const time = parseTime(expiry)
  if (time === null) return 'with an expiry that is no RFC 3339 time'
  return time > now ? null : 'with an expiry that has passed'
}

/** A time of RFC 3339 in milliseconds since 1970, or null. Days that no calendar has are none: `Date` takes 30 February. */
function parseTime(text: string): number | null {
  const date = RFC_3339.exec(text)?.[1]
  if (date === undefined) return null
  const midnight = new Date(`${date}T00:00:00Z`)
  return midnight.toISOString().startsWith(date) ? Date.parse(text.toUpperCase()) : null
}
