import { encodeBase64, namingFor } from '@countersign/protocol'
import type { Command } from 'commander'
import { Failure } from '../errors.ts'
import type { Invocation } from '../invocation.ts'
import type { MockAgent } from '../mock/agents.ts'
import type { MockIssuer } from '../mock/issuer.ts'
import type { Mock } from '../mock/serve.ts'
import { jsonText } from '../output.ts'

const HELP = `
The first output is JSON with the address and the agents: their states, DIDs and private keys, with a certificate for each
key. The agents and keys are the same at each start. It listens on loopback only, and ends on SIGINT or SIGTERM.
Everyone knows these keys. Never claim a certificate of a real service with them.`

interface MockFlags {
  readonly port: string
  readonly shortName?: string
  readonly idHeader?: string
}

/** `countersign mock`: sample agents for the tests of relying parties. */
export function mockCommand(program: Command, cli: Invocation): void {
  program
    .command('mock')
    .description('serve sample agents in every state, with their keys, for tests of sites')
    .option('--port <port>', 'the port on 127.0.0.1; 0: any free port', '0')
    .option('--short-name <name>', 'the short name of the deployment (default: svc)')
    .option('--id-header <name>', 'the identification header (default: ServiceID)')
    .addHelpText('after', HELP)
    .action((flags: MockFlags) => mock(flags, cli))
}

async function mock({ port, shortName, idHeader }: MockFlags, cli: Invocation): Promise<void> {
  // Loaded on demand, so that the other commands start faster.
  const { serveMock } = await import('../mock/serve.ts')
  const options = { port: portOf(port), naming: namesOf(shortName, idHeader), now: cli.io.now }
  const stopped = cli.io.untilSignalled()
  const serving = await serveMock(options)
  const result = await resultOf(serving)
  cli.print(result, jsonText(result, 2))
  await stopped
  await serving.close()
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new Failure('USAGE', '--port must be a number from 0 to 65535.')
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

async function resultOf({ url, site, agents, issuer }: Mock) {
  const { shortName, idHeader } = site.naming
  const listed = agents.map((agent) => listedAgent(agent, site, issuer))
  return { url, shortName, idHeader, agents: await Promise.all(listed) }
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
