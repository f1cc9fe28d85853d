import { DateTime } from '../components/date-time.tsx'

/** The time of the next automatic check: `in 5 hours`, or `shortly` if it is due. */
export function NextCheck({ at }: { readonly at: string }) {
  return Date.parse(at) - Date.now() < 60_000 ? 'shortly' : <DateTime at={at} as="ago" />
}
