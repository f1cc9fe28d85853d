import { styleText } from 'node:util'
import type { Command } from 'commander'
import { codeOf } from './exit.ts'
import { ServiceRefusal } from './failure.ts'

/** What a terminal may obey or a reader not see: control characters, line separators, switches of direction. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu
/** The same without the line feeds that lay JSON out; within its strings they are escaped already. */
const UNPRINTABLE_IN_JSON = /[^\P{Cc}\n]|[\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/** A label and its value; further values stand below the first. */
export type Field = readonly [label: string, value: string | readonly string[]]

/** Prints a result: as JSON and nothing else where `--json` was given, else as the text for people. */
export function print(command: Command, result: unknown, text: string): void {
  process.stdout.write(wantsJson(command) ? `${jsonText(result)}\n` : `${text}\n`)
}

/** Says on standard error what should be known and stops nothing. */
export function warn(command: Command, message: string): void {
  process.stderr.write(
    wantsJson(command)
      ? `${jsonText({ warning: { message } })}\n`
      : `countersign: warning: ${printable(message)}\n`,
  )
}

/** Says on standard error what happens while a command goes on. */
export function note(command: Command, message: string): void {
  process.stderr.write(
    wantsJson(command)
      ? `${jsonText({ note: { message } })}\n`
      : `countersign: ${printable(message)}\n`,
  )
}

/** Says on standard error why a command has failed. */
export function printError(json: boolean, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  const requestId = requestIdOf(error)
  const suffix = requestId === undefined ? '' : ` (${requestId})`
  process.stderr.write(
    json
      ? `${jsonText({ error: { code: codeOf(error), message, requestId } })}\n`
      : `countersign: ${printable(message + suffix)}\n`,
  )
}

/** Whether the command was given `--json`, before or after its name. */
export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true
}

/** Text that a terminal shows and does not obey, whoever wrote it. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escapeUnit)
}

/** The same for text whose line feeds are ours. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

/** JSON with nothing in it that a terminal would obey. @param indent spaces a level; none: one line */
export function jsonText(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(UNPRINTABLE_IN_JSON, escapeUnit)
}

/** A line that stands out, on a terminal that can show it (NO_COLOR is respected). */
export function heading(text: string): string {
  return styleText('bold', printable(text))
}

/** A verdict that cannot be overlooked, coloured where the terminal can show it. */
export function verdict(good: boolean, text: string): string {
  return styleText(['bold', good ? 'green' : 'red'], printable(text))
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

/** The service's id of the request, also where its refusal has been put into other words. */
function requestIdOf(error: unknown): string | undefined {
  if (error instanceof ServiceRefusal) return error.requestId
  return error instanceof Error && error.cause !== undefined ? requestIdOf(error.cause) : undefined
}

function escapeUnit(character: string): string {
  return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`
}
