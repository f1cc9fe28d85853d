const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

/** A duration in its two largest units, such as `2 days 23 hours`. @param seconds a whole number */
export function durationText(seconds: number): string {
  const first = UNITS.findIndex(([, length]) => seconds >= length)
  if (first === -1) return '0 seconds'
  let rest = seconds
  const parts = UNITS.slice(first, first + 2).map(([unit, length]) => {
    const count = Math.floor(rest / length)
    rest -= count * length
    return count === 0 ? '' : `${count} ${unit}${count === 1 ? '' : 's'}`
  })
  return parts.filter(Boolean).join(' ')
}

/** A period of whole hours in hours, as the documentation gives it, such as `72 hours`. */
export function delayText(seconds: number): string {
  return seconds % 3600 === 0 && seconds <= 72 * 3600
    ? `${seconds / 3600} hour${seconds === 3600 ? '' : 's'}`
    : durationText(seconds)
}
