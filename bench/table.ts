/** Formats numbers for the report. A dash means that there is no value. */
export function count(value: number | null): string {
  return value === null ? '-' : Math.round(value).toLocaleString('en')
}

export function ratio(value: number | null): string {
  return value === null ? '-' : value.toFixed(2)
}

export function mib(bytes: number | null): string {
  return bytes === null ? '?' : (bytes / 2 ** 20).toFixed(0)
}

export function milliseconds(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`
}

interface Column {
  readonly head: string
  readonly isText: boolean
}

/** Aligned columns. Columns with nothing but dashes are omitted. */
export function tableOf(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string[] {
  const shown = columns
    .map((column, at) => ({ ...column, at }))
    .filter(({ at }) => rows.some((row) => row[at] !== '-'))
  const all = [columns.map(({ head }) => head), ...rows]
  const widths = columns.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    shown
      .map(({ at, isText }) => {
        const [cell = '', width = 0] = [row[at], widths[at]]
        return isText ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  ')
      .trimEnd()
  return all.map(line)
}
