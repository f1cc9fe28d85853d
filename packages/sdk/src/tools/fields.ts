/** Characters that a terminal executes or a reader cannot see: controls, line separators, direction overrides. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/** A label and its value; each further value gets a line of its own. */
export type Field = readonly [label: string, value: string | readonly string[]]

/** Escapes everything in a text that a terminal would execute. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escapeCharacter)
}

/** Labels and values in two columns. */
export function fields(rows: readonly Field[]): string {
  const width = Math.max(...rows.map(([label]) => label.length)) + 2
  return rows
    .flatMap(([label, value]) =>
      [value]
        .flat()
        .map((line, i) => `  ${(i === 0 ? label : '').padEnd(width)}${printable(line)}`),
    )
    .join('\n')
}

/** As JSON writes it: `\u001b`. */
export function escapeCharacter(character: string): string {
  return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`
}
