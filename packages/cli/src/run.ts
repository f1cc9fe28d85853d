import { EXIT } from '@countersign/protocol'
import { Command, CommanderError } from 'commander'
import { cardCommand } from './commands/card.ts'
import { claimCommand } from './commands/claim.ts'
import { fetchCommand } from './commands/fetch.ts'
import { keygenCommand } from './commands/keygen.ts'
import { lookupCommand } from './commands/lookup.ts'
import { mcpCommand } from './commands/mcp.ts'
import { recoverCommand } from './commands/recover.ts'
import { renounceCommand } from './commands/renounce.ts'
import { resolveCommand } from './commands/resolve.ts'
import { rotateCommand } from './commands/rotate.ts'
import { runtimeCommand } from './commands/runtime.ts'
import { signCommand } from './commands/sign.ts'
import { signCardCommand } from './commands/sign-card.ts'
import { signRequestCommand } from './commands/sign-request.ts'
import { verifyCommand } from './commands/verify.ts'
import { vetoCommand } from './commands/veto.ts'
import { whoamiCommand } from './commands/whoami.ts'
import { exitCodeOf, Failure } from './errors.ts'
import { Invocation, printError, takesKey, takesService } from './invocation.ts'
import type { Io } from './io.ts'
import { printableLines } from './output.ts'
import { VERSION } from './version.ts'

const HELP = `
An agent gets its DID and proves that it holds the key:
  $ countersign keygen
  $ countersign claim svc-verify-…        a token that its owner has issued
  $ countersign whoami
  $ countersign fetch <url>               send a signed request, which proves to the site that you hold the key
  $ countersign sign --audience <origin> '<challenge>'    the same where a site sends a challenge
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
 * @param argv the arguments after the name of the command
 * @returns the exit code
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const json = asksForJson(argv)
  try {
    const { program, invocation } = buildProgram(io, json)
    await program.parseAsync([...argv], { from: 'user' })
    return invocation.exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      printError(io, json, error)
      return exitCodeOf(error)
    }
    if (error.exitCode === 0) return EXIT.ok
    if (json) printError(io, json, usageFailure(error))
    return EXIT.usage
  }
}

function buildProgram(io: Io, json: boolean) {
  const program = new Command('countersign')
  let command = program
  const invocation = new Invocation(io, () => command.optsWithGlobals())
  program
    .description('The command of agents and of those who meet them: keys, DIDs, certificates.')
    .version(VERSION)
    .addHelpText('after', HELP)
    .showHelpAfterError(USE_HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void (json || io.stderr.write(text)),
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      getErrHelpWidth: () => io.stdout.columns ?? 80,
      outputError: (text, write) =>
        write(printableLines(text.replace(/^error: /, 'countersign: '))),
    })
    .hook('preAction', (_program, action) => {
      command = action
    })
  takesService(program)
  takesKey(program)
  keygenCommand(program, invocation)
  claimCommand(program, invocation)
  whoamiCommand(program, invocation)
  cardCommand(program, invocation)
  signCommand(program, invocation)
  fetchCommand(program, invocation)
  signRequestCommand(program, invocation)
  signCardCommand(program, invocation)
  runtimeCommand(program, invocation)
  rotateCommand(program, invocation)
  recoverCommand(program, invocation)
  vetoCommand(program, invocation)
  renounceCommand(program, invocation)
  mcpCommand(program, invocation)
  lookupCommand(program, invocation)
  verifyCommand(program, invocation)
  resolveCommand(program, invocation)
  for (const each of [program, ...program.commands]) {
    each.option('--json', 'print the result as JSON and nothing else')
  }
  return { program, invocation }
}

/** Found before the arguments are parsed, so that errors in them are also reported as JSON. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end === -1 ? argv.length : end).includes('--json')
}

function usageFailure({ code, message }: CommanderError): Failure {
  const why = code === 'commander.help' ? 'No command was given.' : message.replace(/^error: /, '')
  return new Failure('USAGE', `${why} ${USE_HELP}`)
}
