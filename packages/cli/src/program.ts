import { Command, CommanderError } from 'commander'
import { cardCommand } from './commands/card.ts'
import { claimCommand } from './commands/claim.ts'
import { keygenCommand } from './commands/keygen.ts'
import { lookupCommand } from './commands/lookup.ts'
import { mcpCommand } from './commands/mcp.ts'
import { resolveCommand } from './commands/resolve.ts'
import { runtimeCommand } from './commands/runtime.ts'
import { signCommand } from './commands/sign.ts'
import { signCardCommand } from './commands/sign-card.ts'
import { verifyCommand } from './commands/verify.ts'
import { whoamiCommand } from './commands/whoami.ts'
import { EXIT, exitCodeOf } from './exit.ts'
import { Failure } from './failure.ts'
import { printableLines, printError } from './output.ts'
import { takesKey, takesService } from './settings.ts'
import { VERSION } from './version.ts'

const HELP = `
An agent gets its DID and proves that it holds the key:
  $ countersign keygen
  $ countersign claim svc-verify-…        a token that its owner has issued
  $ countersign whoami
  $ countersign sign '<challenge>'        the answer to whoever asks for a proof
  $ countersign runtime                   the answer to the service, now and then: the agent is running
  $ countersign mcp                       all of this as tools for a model (Model Context Protocol)

Someone else decides whether to trust it:
  $ countersign lookup <did>              whether its certificate is good, and its owner verified
  $ countersign verify <did>              whether a caller is that agent: makes a challenge, says what to do with it

Results go to standard output, errors and warnings to standard error; with --json both are JSON, one value a line.

Exit codes: 0 done, 1 failure, 2 wrong usage or key, 3 not found, 4 refused or not verified,
            5 service unreachable or unavailable`

const USE_HELP = '(add --help for how to use it)'

/**
 * Runs `countersign`.
 * @param argv the arguments after the command's own name
 * @returns the exit code
 */
export async function runCountersign(argv: readonly string[]): Promise<number> {
  const json = asksForJson(argv)
  try {
    await buildProgram(json).parseAsync([...argv], { from: 'user' })
    return EXIT.ok
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      printError(json, error)
      return exitCodeOf(error)
    }
    if (error.exitCode === 0) return EXIT.ok
    if (json) printError(json, usageFailure(error))
    return EXIT.usage
  }
}

function buildProgram(json: boolean): Command {
  const program = new Command('countersign')
    .description('The command of agents and of those who meet them: keys, DIDs, certificates.')
    .version(VERSION)
    .addHelpText('after', HELP)
    .showHelpAfterError(USE_HELP)
    .exitOverride()
    .configureOutput({
      writeErr: (text) => void (json || process.stderr.write(text)),
      outputError: (text, write) =>
        write(printableLines(text.replace(/^error: /, 'countersign: '))),
    })
  takesService(program)
  takesKey(program)
  keygenCommand(program)
  claimCommand(program)
  whoamiCommand(program)
  cardCommand(program)
  signCommand(program)
  signCardCommand(program)
  runtimeCommand(program)
  mcpCommand(program)
  lookupCommand(program)
  verifyCommand(program)
  resolveCommand(program)
  for (const each of [program, ...program.commands]) {
    each.option('--json', 'print the result as JSON and nothing else')
  }
  return program
}

/** Known before the arguments are parsed, so that a mistake in them is reported as asked. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end === -1 ? argv.length : end).includes('--json')
}

function usageFailure({ code, message }: CommanderError): Failure {
  const why = code === 'commander.help' ? 'No command was given.' : message.replace(/^error: /, '')
  return new Failure('USAGE', `${why} ${USE_HELP}`)
}
