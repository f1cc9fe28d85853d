/** Characters that a terminal executes or a reader cannot see: controls, line separators, direction overrides. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu
/** The same without the line feeds of indented JSON; line feeds in its strings are escaped already. */
const UNPRINTABLE_IN_JSON = /[^\P{Cc}\n]|[\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/** A label and its value; each further value gets a line of its own. */
export type Field = readonly [label: string, value: string | readonly string[]]

/** Escapes everything in a text that a terminal would execute. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escapeCharacter)
}

/** The same for a text whose line feeds are our own. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** JSON without anything that a terminal would execute. @param indent spaces per level; 0: one line */
export function jsonText(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(UNPRINTABLE_IN_JSON, escapeCharacter)
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

function escapeCharacter(character: string): string {
  return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`
}
