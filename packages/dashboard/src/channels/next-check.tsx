import { Moment } from '../parts/moment.tsx'

/** When a channel is looked for by itself: `in 5 hours`, or `shortly` where that is now. */
export function NextCheck({ at }: { readonly at: string }) {
  return Date.parse(at) - Date.now() < 60_000 ? 'shortly' : <Moment at={at} as="ago" />
}
