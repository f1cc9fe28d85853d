import { encodeBase64 } from '@countersign/protocol'
import type { Command } from 'commander'
import { assertAgentId, parseToken, redeem } from '../claim-token.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { fields } from '../output.ts'

const HELP = `
The owner issues the token on the dashboard (the host: countersignd token issue <owner>). It is good for one agent,
once, within 10 minutes. A refused claim does not use it up.

One key can hold several certificates, each under a label of its own:
  $ countersign claim svc-verify-… --agent-id support-bot`

/** `countersign claim <token>` (contract 4.4). */
export function claimCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('claim')))
    .description('redeem a claim token: the key gets a certificate and a DID')
    .argument('<token>', 'what the owner has issued, such as svc-verify-…')
    .option('--agent-id <label>', 'which of the agents of this key: your own word for it', 'main')
    .addHelpText('after', HELP)
    .action((token: string, { agentId }: { agentId: string }) => claim(token, agentId, cli))
}

async function claim(text: string, agentId: string, cli: Invocation): Promise<void> {
  const { naming, token } = parseToken(text)
  assertAgentId(agentId)
  const key = await cli.ownKey()
  const publicKey = encodeBase64(key.publicKey)
  const registry = cli.registry(naming)
  const claimed = await redeem(registry, token, agentId, key)
  const { did } = claimed
  const lines = [
    cli.heading(`This agent is ${did}`),
    '',
    fields([
      ['DID', did],
      ['Agent id', agentId],
      ['Public key', publicKey],
    ]),
    '',
    'Everyone can check it now. Next:',
    fields([
      [`${cli.command} card`, 'what others see'],
      [`${cli.command} sign --help`, 'prove to someone that you hold the key'],
    ]),
  ]
  const raw = registry.rawOf(claimed) as object
  cli.print({ ...raw, did, agentId, publicKey }, lines.join('\n'))
}
