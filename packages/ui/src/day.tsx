import { formatDay, formatMinute } from './dates.ts'

export interface DayProps {
  /** ISO 8601. */
  readonly at: string
  /** Whether the time of day matters. */
  readonly exact?: boolean
}

/** A moment, for people and for programs. */
export function Day({ at, exact = false }: DayProps) {
  return <time dateTime={at}>{exact ? formatMinute(at) : formatDay(at)}</time>
}
