const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
const MINUTE = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/**
 * A day as people write it: 7 November 2026. In UTC, so that everyone reads the same one.
 * @param at ISO 8601
 */
export function formatDay(at: string): string {
  return DAY.format(new Date(at))
}

/** The same with the minute: 7 November 2026 at 14:05 UTC. */
export function formatMinute(at: string): string {
  return `${MINUTE.format(new Date(at))} UTC`
}
