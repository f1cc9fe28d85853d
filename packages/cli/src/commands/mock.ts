import { encodeBase64, namingFor } from '@countersign/protocol'
import type { Command } from 'commander'
import { Failure } from '../errors.ts'
import type { Invocation } from '../invocation.ts'
import type { MockAgent } from '../mock/agents.ts'
import type { Mock } from '../mock/serve.ts'
import { jsonText } from '../output.ts'

const HELP = `
The first output is JSON with the address and the agents: their states, DIDs and private keys. The agents are the same at
each start. It listens on loopback only, and ends on SIGINT or SIGTERM.
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
  const result = resultOf(serving)
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

function resultOf({ url, site, agents }: Mock) {
  const { shortName, idHeader, didPrefix } = site.naming
  return {
    url,
    shortName,
    idHeader,
    agents: agents.map(({ name, tail, status, keys }: MockAgent) => ({
      name,
      did: `${didPrefix}${tail}`,
      status,
      keys: keys.map(({ publicKey, jwk, pem }, i) => ({
        sequence: i + 1,
        publicKey: encodeBase64(publicKey),
        jwk,
        pem,
      })),
    })),
  }
}
