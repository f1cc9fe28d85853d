/** ISO 8601 in UTC, as the contract writes times. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
