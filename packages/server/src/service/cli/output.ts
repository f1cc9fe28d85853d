import { EXIT } from '@countersign/protocol'
import type { Command } from 'commander'

/** Prints a result to standard output: as JSON if `--json` was given, else as text. */
export function print(command: Command, result: unknown, text: string): void {
  const { json } = command.optsWithGlobals<{ json?: boolean }>()
  command.configureOutput().writeOut?.(json ? `${JSON.stringify(result)}\n` : `${text}\n`)
}

/** What a command has printed says what failed: nothing is left to print. */
export class ReportedFailure extends Error {
  override readonly name = 'ReportedFailure'
  readonly exitCode: number

  constructor(exitCode: number = EXIT.failure) {
    super('reported')
    this.exitCode = exitCode
  }
}

/** Formats rows as columns under their headings. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, i) =>
    Math.max(heading.length, ...rows.map((row) => row[i]?.length ?? 0)),
  )
  return [headings, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
