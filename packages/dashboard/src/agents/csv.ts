/** Spreadsheets run cells that begin with these as formulas. */
const FORMULA = /^[=+\-@\t\r]/

/**
 * Formats rows as CSV (RFC 4180). Texts that a spreadsheet would run as a formula get an apostrophe in front.
 * @param header the names of the columns
 */
export function toCsv(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [header, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('')
}

function cell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
