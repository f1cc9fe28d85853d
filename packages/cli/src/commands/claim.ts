import type { Command } from 'commander'
import { fields, heading, print } from '../output.ts'
import { ownKey } from '../own-key.ts'
import { parseToken, redeem, requireAgentId } from '../redeem.ts'
import { serviceOf, takesKey, takesService } from '../settings.ts'

const HELP = `
The owner issues the token on the dashboard (the host: countersignd token issue <owner>). It is good for one agent,
once, within 10 minutes. A refused claim does not use it up.

One key can hold several certificates, each under a label of its own:
  $ countersign claim svc-verify-… --agent-id support-bot`

/** `countersign claim <token>` (contract 4.4). */
export function claimCommand(program: Command): void {
  takesKey(takesService(program.command('claim')))
    .description('redeem a claim token: the key gets a certificate and a DID')
    .argument('<token>', 'what the owner has issued, such as svc-verify-…')
    .option('--agent-id <label>', 'which of the agents of this key: your own word for it', 'main')
    .addHelpText('after', HELP)
    .action(claim)
}

async function claim(
  text: string,
  { agentId }: { agentId: string },
  command: Command,
): Promise<void> {
  const token = parseToken(text)
  requireAgentId(agentId)
  const key = ownKey(command)
  const { did, answer } = await redeem(serviceOf(command), token, agentId, key)
  const lines = [
    heading(`This agent is ${did}`),
    '',
    fields([
      ['DID', did],
      ['Agent id', agentId],
      ['Public key', key.publicKey],
    ]),
    '',
    'Everyone can check it now. Next:',
    '  countersign card                  what others see',
    "  countersign sign '<challenge>'    prove to someone that you hold the key",
  ]
  print(command, { ...answer, did, agentId, publicKey: key.publicKey }, lines.join('\n'))
}
