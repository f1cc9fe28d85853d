import { EXIT } from '@countersign/protocol'
import { Failure } from '@countersign/sdk/tool-support'
import { Command, CommanderError } from 'commander'
import { cardCommand } from './commands/card.ts'
import { certificateCommand } from './commands/certificate.ts'
import { claimCommand } from './commands/claim.ts'
import { conformanceCommand } from './commands/conformance.ts'
import { delegateCommand } from './commands/delegate.ts'
import { endDelegationsCommand } from './commands/end-delegations.ts'
import { enrolCommand } from './commands/enrol.ts'
import { fetchCommand } from './commands/fetch.ts'
import { grantCommand } from './commands/grant.ts'
import { keygenCommand } from './commands/keygen.ts'
import { logCommand } from './commands/log.ts'
import { lookupCommand } from './commands/lookup.ts'
import { mcpCommand } from './commands/mcp.ts'
import { mockCommand } from './commands/mock.ts'
import { recoverCommand } from './commands/recover.ts'
import { registryCommand } from './commands/registry.ts'
import { renounceCommand } from './commands/renounce.ts'
import { reportCommand } from './commands/report.ts'
import { reportKeyCommand } from './commands/report-key.ts'
import { resolveCommand } from './commands/resolve.ts'
import { rotateCommand } from './commands/rotate.ts'
import { runtimeCommand } from './commands/runtime.ts'
import { signCommand } from './commands/sign.ts'
import { signCardCommand } from './commands/sign-card.ts'
import { signRequestCommand } from './commands/sign-request.ts'
import { verifyCommand } from './commands/verify.ts'
import { vetoCommand } from './commands/veto.ts'
import { whoamiCommand } from './commands/whoami.ts'
import { exitCodeOf } from './exit-code.ts'
import { Invocation, printError, takesKey, takesService } from './invocation.ts'
import type { Io } from './io.ts'
import { printableLines } from './output.ts'
import { VERSION } from './version.ts'

const HELP = `
For agents:
  $ countersign keygen                    generate a key
  $ countersign claim svc-verify-…        redeem a claim token from the owner
  $ countersign enrol --rule er_… --github    enrol by the token of your platform, without a stored secret
  $ countersign whoami                    show your DID and certificate
  $ countersign fetch <url>               send a signed request, which proves that you hold the key
  $ countersign sign --audience <origin> '<challenge>'    sign a challenge that a site sent
  $ countersign grant --audience <issuer> --token-endpoint <url>    get a grant for an OAuth server
  $ countersign registry aws              print the submission sheet of a bot registry
  $ countersign delegate --to <key> --origin <origin>    let the key of a worker act for you, for a short time
  $ countersign runtime                   renew the runtime channel, for example once a week
  $ countersign mcp                       serve these commands as tools for a model (Model Context Protocol)

For relying parties:
  $ countersign lookup <did>              show the certificate status and the owner's identity level
  $ countersign verify <did>              verify that a caller holds the agent's key, with a challenge
  $ countersign certificate verify <file> verify a signed certificate, also without a network
  $ countersign log verify                verify the transparency log; log watch alerts about your own agents
  $ countersign report --agent <did> …    report an agent to its owner, with requests that it signed
  $ countersign mock                      serve sample agents in every state, for your tests

For operators and implementers:
  $ countersign conformance <url>         check that a deployment keeps the contract

Results go to standard output, errors and warnings to standard error. With --json, both are JSON, one value per line.

Exit codes: 0 done, 1 failure, 2 wrong usage or key, 3 not found, 4 refused or not verified,
            5 service unreachable or unavailable`

const USE_HELP = '(see --help)'

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
    .description('Manage the identity of an agent, and verify the identity of other agents.')
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
  enrolCommand(program, invocation)
  whoamiCommand(program, invocation)
  cardCommand(program, invocation)
  signCommand(program, invocation)
  fetchCommand(program, invocation)
  signRequestCommand(program, invocation)
  signCardCommand(program, invocation)
  grantCommand(program, invocation)
  registryCommand(program, invocation)
  runtimeCommand(program, invocation)
  rotateCommand(program, invocation)
  recoverCommand(program, invocation)
  vetoCommand(program, invocation)
  delegateCommand(program, invocation)
  endDelegationsCommand(program, invocation)
  renounceCommand(program, invocation)
  reportCommand(program, invocation)
  reportKeyCommand(program, invocation)
  mcpCommand(program, invocation)
  lookupCommand(program, invocation)
  verifyCommand(program, invocation)
  resolveCommand(program, invocation)
  certificateCommand(program, invocation)
  logCommand(program, invocation)
  conformanceCommand(program, invocation)
  mockCommand(program, invocation)
  for (const each of [program, ...program.commands]) {
    each.option('--json', 'print the result as JSON')
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
