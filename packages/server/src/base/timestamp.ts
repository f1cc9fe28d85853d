const DAY_MS = 86_400_000

/** Cache of the last date: consecutive timestamps mostly share it, and formatting it is most of the work. */
let lastDay = Number.NaN
let lastDate = ''

/**
 * Formats a time as in the contract: ISO 8601 in UTC with milliseconds. Equals `Date.toISOString`, at a third of the cost.
 * @param milliseconds since the Unix epoch
 */
export function timestamp(milliseconds: number): string {
  const day = Math.floor(milliseconds / DAY_MS)
  if (day !== lastDay) {
    lastDate = new Date(day * DAY_MS).toISOString().slice(0, -13)
    lastDay = day
  }
  const ms = milliseconds - day * DAY_MS
  const hours = Math.floor(ms / 3_600_000)
  const minutes = Math.floor(ms / 60_000) % 60
  const seconds = Math.floor(ms / 1000) % 60
  return `${lastDate}${two(hours)}:${two(minutes)}:${two(seconds)}.${three(ms % 1000)}Z`
}

/** The start of the day in UTC, for public times that would otherwise tell which agents belong together. */
export function startOfDay(milliseconds: number): number {
  return Math.floor(milliseconds / DAY_MS) * DAY_MS
}

/** @param milliseconds since the Unix epoch; null stays null */
export function timestampOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : timestamp(milliseconds)
}

const TWO_DIGITS = Array.from({ length: 100 }, (_, i) => String(i).padStart(2, '0'))
const THREE_DIGITS = Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0'))

function two(value: number): string {
  return TWO_DIGITS[value] as string
}

function three(value: number): string {
  return THREE_DIGITS[value] as string
}
