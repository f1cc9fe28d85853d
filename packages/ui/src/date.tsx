const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const MINUTE = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/**
 * A date such as 7 November 2026, in UTC, so that every reader sees the same one.
 * @param at ISO 8601
 */
export function formatDay(at: string): string {
  return DAY.format(new Date(at))
}

/** The same with the time: 7 November 2026 at 14:05 UTC. */
export function formatMinute(at: string): string {
  return `${MINUTE.format(new Date(at))} UTC`
}

/** A month such as November 2026, in UTC, as text and machine-readable. */
export function Month({ at }: Pick<DayProps, 'at'>) {
  return <time dateTime={at}>{MONTH.format(new Date(at))}</time>
}

export interface DayProps {
  /** ISO 8601. */
  readonly at: string
  /** Whether to show the time of day. */
  readonly exact?: boolean
}

/** A date as text and machine-readable. */
export function Day({ at, exact = false }: DayProps) {
  return <time dateTime={at}>{exact ? formatMinute(at) : formatDay(at)}</time>
}
