/**
 * How long an answer asks to wait (RFC 9110 section 10.2.3): seconds, or a date.
 * @param now milliseconds since 1970
 * @returns milliseconds, or null where nothing that can be read is asked
 */
export function retryAfterOf(headers: Headers, now: number): number | null {
  const text = headers.get('retry-after')?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // Only what is a date in words: Date.parse would read `-1` as a year.
  const date = /^[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}
