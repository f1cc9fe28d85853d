import { EXIT } from '@countersign/protocol'
import { Command, CommanderError } from 'commander'
import type { Env } from '../../base/config.ts'
import { VERSION } from '../../base/version.ts'
import { exitCodeOf, messageOf } from '../cluster/exit-codes.ts'
import { ReportedFailure } from './output.ts'
import { serveCommands } from './serve.ts'

const HELP = `
From nothing to an agent with a DID:
  $ countersignd serve &
  $ countersignd owner add ada --name "Ada Lovelace"
  $ countersignd owner verify ada --provider in-person
  $ countersign keygen
  $ countersign claim "$(countersignd token issue ada)"

An owner's first way into the dashboard, and their last resort:
  $ countersignd owner sign-in-link ada

Settings are environment variables (docs/configuration.md). Commands use the server's, also while it runs.

Exit codes: 0 done, 1 failure, 2 wrong usage or settings, 3 not found, 4 refused, 5 data unavailable`

/** What a command reads its settings from and writes to. */
export interface CommandIo {
  readonly env: Env
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
}

/**
 * Runs `countersignd`. Prints errors to standard error instead of throwing them.
 * @param argv the arguments after the command's own name
 * @returns the exit code
 */
export async function runCountersignd(
  argv: readonly string[],
  { env, stdout, stderr }: CommandIo,
): Promise<number> {
  const program = new Command('countersignd')
    .description("The operator's command of Countersign: runs the service and works on its data.")
    .version(VERSION)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
    })
  serveCommands(program, env)
  // The service uses none of the others, and their code takes memory.
  if (argv[0] !== 'serve') (await import('./commands.ts')).addCommands(program, env)
  configureSubcommands(program)
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    if (error instanceof ReportedFailure) return error.exitCode
    stderr.write(`countersignd: ${messageOf(error)}\n`)
    return exitCodeOf(error)
  }
}

/** Makes subcommands throw instead of exiting, and accept --json after their own name as well. */
function configureSubcommands(command: Command): void {
  for (const each of command.commands) {
    each.exitOverride().showHelpAfterError('(see --help)')
    if (each.commands.length === 0) each.option('--json', 'print the result as JSON')
    configureSubcommands(each)
  }
}
