import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DelegationLimits,
  didOf,
  encodeBase64,
  namingFor,
  readLimits,
} from '@countersign/protocol'
import { Failure } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import type { Invocation } from '../invocation.ts'
import type { MockAgent } from '../mock/agents.ts'
import { listedApproval } from '../mock/approvals.ts'
import type { MockDelegate } from '../mock/delegates.ts'
import type { MockIssuer } from '../mock/issuer.ts'
import type { Mock } from '../mock/serve.ts'
import { untilStarterEnds } from '../mock/starter.ts'
import { jsonText } from '../output.ts'

const HELP = `
Runs a command with the mock, and ends with it and its exit code:
  $ countersign mock -- npm test
The command finds the address in COUNTERSIGN_URL, and in COUNTERSIGN_MOCK the path of a file with what is described below.

Without a command, the first output is JSON with the address and the agents: their states, DIDs and private keys, with a
certificate for each key. It also has three delegates of one agent, with chains for --origin: one accepted, one expired and one ended. The
accepted one lasts for an hour from the start. Of another agent it has three approvals for the first --origin: one pending, one approved
and one that you record as used. It ends on SIGINT or SIGTERM, and with the process that has started it.

The agents and keys are the same at each start. It listens on loopback only.
Everyone knows these keys. Never claim a certificate of a real service with them.`

/** Of a site in development. */
const DEFAULT_ORIGIN = 'http://localhost:3000'

interface MockFlags {
  readonly port: string
  readonly shortName?: string
  readonly idHeader?: string
  readonly origin: readonly string[]
}

/** `countersign mock`: sample agents for the tests of relying parties. */
export function mockCommand(program: Command, cli: Invocation): void {
  program
    .command('mock')
    .description('serve sample agents in every state, with their keys, for tests of sites')
    .argument('[command...]', 'after --: a command to run, such as npm test')
    .option('--port <port>', 'the port on 127.0.0.1; 0: any free port', '0')
    .option('--short-name <name>', 'the short name of the deployment (default: svc)')
    .option('--id-header <name>', 'the identification header (default: ServiceID)')
    .option(
      '--origin <origin>',
      `your site, which the delegates may call, and the first of which requires approvals; may be repeated (default: ${DEFAULT_ORIGIN})`,
      (value: string, previous: readonly string[]) => [...previous, value],
      [],
    )
    .addHelpText('after', HELP)
    .action((command: readonly string[], flags: MockFlags) => mock(command, flags, cli))
}

async function mock(
  command: readonly string[],
  { port, shortName, idHeader, origin }: MockFlags,
  cli: Invocation,
): Promise<void> {
  // Loaded on demand, so that the other commands start faster.
  const { serveMock } = await import('../mock/serve.ts')
  const options = {
    port: portOf(port),
    naming: namesOf(shortName, idHeader),
    now: cli.io.now,
    limits: limitsOf(origin),
  }
  const stopped = Promise.race([cli.io.untilSignalled(), untilStarterEnds(cli.io.env)])
  const serving = await serveMock(options)
  try {
    const result = await resultOf(serving)
    if (command.length > 0) {
      cli.exitCode = await runWith(command, result, stopped, cli)
      return
    }
    cli.print(result, jsonText(result, 2))
    await stopped
  } finally {
    await serving.close()
  }
}

/**
 * Runs a command that finds the mock in its environment.
 * @param stopped ends the command
 * @returns its exit code, as shells write that of a signal
 * @throws Failure USAGE if it cannot be started
 */
async function runWith(
  [program = '', ...args]: readonly string[],
  result: { readonly url: string },
  stopped: Promise<void>,
  { io }: Invocation,
): Promise<number> {
  const dir = await mkdtemp(join(tmpdir(), 'countersign-mock-'))
  const file = join(dir, 'mock.json')
  try {
    await writeFile(file, jsonText(result, 2))
    const env = { ...io.env, COUNTERSIGN_URL: result.url, COUNTERSIGN_MOCK: file }
    // On Windows, npm is a script, which only a shell runs.
    const shell = process.platform === 'win32'
    const child = spawn(program, args, { env, cwd: io.cwd, shell, stdio: 'inherit' })
    stopped.then(() => child.kill())
    return await new Promise((resolve, reject) => {
      child.once('error', (cause) => {
        reject(new Failure('USAGE', `${program} cannot be started: ${cause.message}`, { cause }))
      })
      child.once('exit', (code, signal) => {
        resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
      })
    })
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new Failure('USAGE', '--port must be a number from 0 to 65535.')
}

function limitsOf(given: readonly string[]): DelegationLimits {
  const limits = readLimits({ origins: given.length === 0 ? [DEFAULT_ORIGIN] : given })
  if (limits !== null) return limits
  throw new Failure(
    'USAGE',
    '--origin must be an https origin such as https://shop.example, or http on loopback; 1 to 8 different ones.',
  )
}

function namesOf(shortName: string | undefined, idHeader: string | undefined) {
  try {
    return namingFor(shortName, idHeader)
  } catch (cause) {
    throw new Failure(
      'USAGE',
      '--short-name must be 1 to 16 of a-z and 0-9, beginning with a letter; --id-header letters, digits and hyphens.',
      { cause },
    )
  }
}

async function resultOf({ url, site, agents, issuer, delegates, approvals }: Mock) {
  const { shortName, idHeader } = site.naming
  const listed = agents.map((agent) => listedAgent(agent, site, issuer))
  return {
    url,
    shortName,
    idHeader,
    agents: await Promise.all(listed),
    delegates: delegates.map((each) => listedDelegate(each, site)),
    approvals: await Promise.all(approvals.map((each) => listedApproval(each, site, issuer))),
  }
}

function listedDelegate(
  { name, agent, key, chain, expiresAt }: MockDelegate,
  { naming }: Mock['site'],
) {
  return {
    name,
    did: didOf(naming, agent.tail),
    publicKey: encodeBase64(key.publicKey),
    jwk: key.jwk,
    pem: key.pem,
    chain,
    expiresAt: new Date(expiresAt).toISOString(),
  }
}

async function listedAgent(agent: MockAgent, { naming }: Mock['site'], issuer: MockIssuer) {
  const { name, tail, status, keys } = agent
  const listed = keys.map(async (key, i) => ({
    sequence: i + 1,
    publicKey: encodeBase64(key.publicKey),
    jwk: key.jwk,
    pem: key.pem,
    certificate: await issuer.certificateOf(agent, key),
  }))
  return { name, did: `${naming.didPrefix}${tail}`, status, keys: await Promise.all(listed) }
}
