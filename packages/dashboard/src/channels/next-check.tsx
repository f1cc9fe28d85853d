import { DateTime } from '../components/date-time.tsx'

/** The time of the next automatic check: `in 5 hours`, or `soon` if it is due. */
export function NextCheck({ at }: { readonly at: string }) {
  return Date.parse(at) - Date.now() < 60_000 ? 'soon' : <DateTime at={at} as="ago" />
}
