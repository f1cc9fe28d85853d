import {
  AGENT_ID_PATTERN,
  type ClaimToken,
  claimMessage,
  isClaimToken,
  type Naming,
} from '@countersign/protocol'
import type { Command } from 'commander'
import type { AgentKey } from '../agent-key.ts'
import { namingOfToken } from '../deployment.ts'
import { redeemToken } from '../endpoints.ts'
import { codeOf } from '../exit.ts'
import { Failure } from '../failure.ts'
import { fields, heading, print } from '../output.ts'
import { ownKey } from '../own-key.ts'
import { serviceOf, takesKey, takesService } from '../settings.ts'

const HELP = `
The owner issues the token on the dashboard (the host: countersignd token issue <owner>). It is good for one agent,
once, within 10 minutes. A refused claim does not use it up.

One key can hold several certificates, each under a label of its own:
  $ countersign claim svc-verify-… --agent-id support-bot`

/** After these, the claim may have gone through. */
const IN_DOUBT: readonly string[] = ['NO_ANSWER', 'UNEXPECTED_ANSWER', 'INTERNAL_ERROR']

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
  const { naming, token } = parseToken(text)
  requireAgentId(agentId)
  const key = ownKey(command)
  const answer = await redeem(serviceOf(command), naming, token, agentId, key)
  const did = answer[naming.didField]
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

/** The token is a secret until it is used: no message repeats it. */
function parseToken(text: string): { naming: Naming; token: ClaimToken } {
  const naming = namingOfToken(text)
  if (naming !== null && isClaimToken(naming, text)) return { naming, token: text }
  throw new Failure(
    'USAGE',
    'A claim token is a short name, -verify- and 32 hexadecimal characters, such as svc-verify-….',
  )
}

function requireAgentId(agentId: string): void {
  if (AGENT_ID_PATTERN.test(agentId)) return
  throw new Failure(
    'USAGE',
    'An agent id is a label of 1 to 128 characters without control characters.',
  )
}

async function redeem(
  service: URL,
  naming: Naming,
  token: ClaimToken,
  agentId: string,
  key: AgentKey,
) {
  const signature = key.sign(claimMessage(token, agentId))
  const request = { claimToken: token, agentId, publicKey: key.publicKey, signature }
  try {
    return await redeemToken(service, naming, request)
  } catch (error) {
    if (!IN_DOUBT.includes(codeOf(error))) throw error
    throw new Failure(
      'OUTCOME_UNKNOWN',
      `${(error as Error).message} Whether the claim went through is unknown: countersign whoami tells, and trying again is safe.`,
      { cause: error },
    )
  }
}
