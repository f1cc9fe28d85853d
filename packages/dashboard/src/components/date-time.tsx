/** Days are UTC, as on the certificate: otherwise the two could show different dates. */
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
const MINUTE = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})
const SPAN = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

interface DateTimeProps {
  /** RFC 3339. */
  readonly at: string
  /** `day`: 3 March 2027. `minute`: with the time of day. `ago`: relative to now, such as `2 hours ago`. */
  readonly as?: 'day' | 'minute' | 'ago'
}

/** A day in UTC, or a time in the user's time zone. The title has the full time. */
export function DateTime({ at, as = 'day' }: DateTimeProps) {
  const date = new Date(at)
  return (
    <time dateTime={at} title={MINUTE.format(date)}>
      {as === 'ago' ? fromNow(date, Date.now()) : (as === 'day' ? DAY : MINUTE).format(date)}
    </time>
  )
}

const UNITS = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

/** Such as `in 3 months`, `yesterday` or `just now`. */
function fromNow(date: Date, now: number): string {
  const ms = date.getTime() - now
  const unit = UNITS.find(([, length]) => Math.abs(ms) >= length)
  return unit === undefined ? 'just now' : SPAN.format(Math.round(ms / unit[1]), unit[0])
}
