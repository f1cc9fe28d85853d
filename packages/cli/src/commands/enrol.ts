import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import {
  CountersignError,
  type Enrolment,
  type EnrolOptions,
  enrol,
  keepEnrolled,
  type PlatformTokenSource,
} from '@countersign/sdk'
import { gcpToken, githubActionsToken, tokenFile } from '@countersign/sdk/node'
import { describeError, Failure, fields, formatMinute } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesKey } from '../invocation.ts'

const HELP = `
Your owner has created an enrolment rule on the dashboard. Choose where the token of the platform comes from:
  --github                      GitHub Actions, with permissions: id-token: write
  --gcp                         Google Cloud: a virtual machine, GKE or Cloud Run
  --token-file <file>           Kubernetes: a projected volume; SPIFFE: the file of spiffe-helper. It is read each time
  --token-command <command>     any other: the command prints the token

The command gets ENROL_AUDIENCE in its environment, the audience to ask for. Such a token is worth nothing with another key. It is run
without a shell: words are separated by spaces, and quotation marks have no meaning. For more, write a script.

Running it again renews the agent. In a pod, let it run beside your program:
  $ countersign enrol --service https://id.example --rule er_… --token-file /var/run/secrets/countersign/token \\
      --key /keys/agent.pem --create-key --hold --end-on-exit

With --hold, it prints the enrolment, and again if the DID changes. It retries after failures, except that of a first enrolment that is
refused. The token goes to the service only, and is never printed.`

const COMMAND_TIMEOUT_MS = 30_000
const COMMAND_MAX_BYTES = 64 * 1024

interface EnrolFlags {
  readonly rule: string
  readonly tokenFile?: string
  readonly tokenCommand?: string
  readonly github?: boolean
  readonly gcp?: boolean
  readonly createKey?: boolean
  readonly hold?: boolean
  readonly endOnExit?: boolean
}

/** `countersign enrol --rule <id>`: an identity by the token of the platform. */
export function enrolCommand(program: Command, cli: Invocation): void {
  takesKey(
    program
      .command('enrol')
      .description('get or renew an identity by the token of your platform, without a secret')
      .option(
        '--service <url>',
        'the public address of the service, which is in the audience of the token (COUNTERSIGN_URL)',
      )
      .requiredOption('--rule <id>', 'the enrolment rule of your owner, such as er_…'),
  )
    .option('--token-file <file>', 'read the token from a file')
    .option('--token-command <command>', 'run a command that prints the token')
    .option('--github', 'ask GitHub Actions for the token')
    .option('--gcp', 'ask the metadata server of Google Cloud for the token')
    .option('--create-key', 'create the key first if there is none; never replaces one')
    .option('--hold', 'keep running, and renew the agent until SIGINT or SIGTERM')
    .option('--end-on-exit', 'with --hold: end the agent then, at once and for good')
    .addHelpText('after', HELP)
    .action((flags: EnrolFlags) => enrolWorkload(flags, cli))
}

async function enrolWorkload(flags: EnrolFlags, cli: Invocation): Promise<void> {
  const { rule, createKey = false, hold = false, endOnExit = false } = flags
  if (endOnExit && !hold) throw new Failure('USAGE', '--end-on-exit needs --hold.')
  const token = sourceOf(flags, cli)
  const { service, fetch } = cli
  const signer = await cli.ownKey({ create: createKey })
  const options = { service, rule, token, signer, fetch, now: cli.io.now }
  if (!hold) {
    printEnrolment(await enrol(options), cli)
    return
  }
  const last = await holdEnrolment(options, cli)
  if (!endOnExit || last === null) return
  const { did } = await last.end()
  cli.log(`${did} has ended`)
}

/** Renews until the process is told to stop. @returns the last enrolment; null if there was none */
async function holdEnrolment(options: EnrolOptions, cli: Invocation): Promise<Enrolment | null> {
  const stop = new AbortController()
  cli.io.untilSignalled().then(() => stop.abort())
  let last: Enrolment | null = null
  await keepEnrolled(options, {
    signal: stop.signal,
    onChanged: (enrolment) => {
      last = enrolment
      printEnrolment(enrolment, cli)
    },
    onFailure: (error, retryAt) => {
      const seconds = Math.ceil((retryAt - cli.io.now()) / 1000)
      cli.warn(`${describeError(error).message} Trying again in ${seconds} seconds.`)
    },
  })
  return last
}

function printEnrolment(enrolment: Enrolment, cli: Invocation): void {
  const { did, agentId, renewed, renewAfter, endsAt } = enrolment
  const { keyFile } = cli
  const certificateUrl = new URL(`/agent/${did}`, cli.service).href
  const rows = [
    ['DID', did],
    ['Agent id', agentId],
    ['Key file', keyFile],
    ['Renew after', formatMinute(renewAfter)],
    ['Ends', `${formatMinute(endsAt)}, unless renewed`],
    ['Certificate', certificateUrl],
  ] as const
  const title = cli.heading(renewed ? `${did} is renewed` : `This agent is ${did}`)
  const result = { did, agentId, renewed, renewAfter, endsAt, keyFile, certificateUrl }
  cli.print(result, `${title}\n\n${fields(rows)}`)
}

/** @throws Failure USAGE unless exactly one source is named */
function sourceOf(flags: EnrolFlags, cli: Invocation): PlatformTokenSource {
  const { tokenFile: file, tokenCommand: command, github, gcp } = flags
  const sources = [
    file === undefined ? null : tokenFile(cli.path(file)),
    command === undefined ? null : tokenCommand(command, cli),
    github === true ? githubActionsToken() : null,
    gcp === true ? gcpToken() : null,
  ].filter((source) => source !== null)
  const [source, ...others] = sources
  if (source !== undefined && others.length === 0) return source
  throw new Failure(
    'USAGE',
    'Name one source of the token: --token-file, --token-command, --github or --gcp.',
  )
}

const run = promisify(execFile)

/**
 * A source that runs a program without a shell.
 * @returns a source that throws CountersignError NO_PLATFORM_TOKEN if the program fails, without what it has printed
 * @throws Failure USAGE if the command is empty
 */
function tokenCommand(command: string, { io }: Invocation): PlatformTokenSource {
  const [program, ...args] = command.split(' ').filter((word) => word !== '')
  if (program === undefined) throw new Failure('USAGE', '--token-command names no command.')
  return async (audience) => {
    const options = {
      cwd: io.cwd,
      env: { ...io.env, ENROL_AUDIENCE: audience },
      timeout: COMMAND_TIMEOUT_MS,
      maxBuffer: COMMAND_MAX_BYTES,
    }
    try {
      const { stdout } = await run(program, args, options)
      return stdout.trim()
    } catch (error) {
      // The error has the output of the program, which may be the token, so it is no cause.
      const { code, signal } = error as { code?: unknown; signal?: unknown }
      const why = String(signal ?? code ?? 'unknown')
      const message = `The token command ${program} has failed (${why}).`
      throw new CountersignError('NO_PLATFORM_TOKEN', message)
    }
  }
}
