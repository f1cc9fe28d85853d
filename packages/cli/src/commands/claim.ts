import { encodeBase64 } from '@countersign/protocol'
import { fields } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { assertAgentId, parseToken, redeem } from '../claim-token.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'

const HELP = `
The owner creates the token on the dashboard; the operator can create one with countersignd token issue <owner>.
It is single-use, for one agent, valid for 10 minutes. A refused claim does not use it up. If the key has the certificate
of this label already, the command prints that one, also with a used token of its owner.

One key can hold several certificates, each under a label of its own:
  $ countersign claim svc-verify-… --agent-id support-bot`

interface ClaimOptions {
  readonly agentId: string
  readonly createKey?: boolean
}

/** `countersign claim <token>` (contract 4.4). */
export function claimCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('claim')))
    .description('redeem a claim token to get a certificate and a DID')
    .argument('<token>', 'the claim token from the owner, such as svc-verify-…')
    .option(
      '--agent-id <label>',
      'a label of your choice that distinguishes agents with the same key',
      'main',
    )
    .option('--create-key', 'create the key first if there is none; never replaces one')
    .addHelpText('after', HELP)
    .action((token: string, options: ClaimOptions) => claim(token, options, cli))
}

async function claim(
  text: string,
  { agentId, createKey = false }: ClaimOptions,
  cli: Invocation,
): Promise<void> {
  const { naming, token } = parseToken(text)
  assertAgentId(agentId)
  const key = await cli.ownKey({ create: createKey })
  const publicKey = encodeBase64(key.publicKey)
  const registry = cli.registry(naming)
  const claimed = await redeem(registry, token, agentId, key)
  const { did } = claimed
  const { keyFile } = cli
  const certificateUrl = new URL(`/agent/${did}`, cli.service).href
  const lines = [
    cli.heading(`This agent is ${did}`),
    '',
    fields([
      ['DID', did],
      ['Agent id', agentId],
      ['Public key', publicKey],
      ['Key file', keyFile],
      ['Certificate', certificateUrl],
    ]),
    '',
    ...(createKey ? ['Keep the key file secret: anyone who has it can act as this agent.'] : []),
    'Anyone can look it up now. Next:',
    fields([
      [`${cli.command} card`, 'what others see'],
      [`${cli.command} sign --help`, 'prove that you hold the key'],
    ]),
  ]
  // Null if the key had the certificate already.
  const raw = registry.rawOf(claimed) as object | null
  cli.print({ ...claimed, ...raw, agentId, publicKey, keyFile, certificateUrl }, lines.join('\n'))
}
