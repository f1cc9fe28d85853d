import { escapeCharacter, printable } from '@countersign/sdk/tool-support'

/** What a terminal executes, without the line feeds of indented JSON; line feeds in its strings are escaped already. */
const UNPRINTABLE_IN_JSON = /[^\P{Cc}\n]|[\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/** The same for a text whose line feeds are our own. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** JSON without anything that a terminal would execute. @param indent spaces per level; 0: one line */
export function jsonText(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(UNPRINTABLE_IN_JSON, escapeCharacter)
}
