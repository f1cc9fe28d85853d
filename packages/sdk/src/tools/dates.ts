const MONTHS =
  'January February March April May June July August September October November December'.split(' ')

/**
 * A date for people, such as 7 November 2026, in UTC.
 * @param at ISO 8601, or milliseconds since the Unix epoch. A text that is no date is returned as it is.
 */
export function formatDay(at: string | number): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return String(at)
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

/** The same with the time: 7 November 2026 at 14:05 UTC. */
export function formatMinute(at: string | number): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return String(at)
  return `${formatDay(at)} at ${date.toISOString().slice(11, 16)} UTC`
}
