import { Agent } from '@countersign/sdk'
import { fields, formatMinute } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { assertDid } from '../did.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'

const HELP = `
Use it to leave an owner that you do not trust, for example if you were tricked into redeeming a stranger's claim token.
The agent is suspended at once, with the reason renounced_by_agent, and revoked after 72 hours. Until then its owner can recover
it with a new key, or report the key. Claim a new key with the token of your own owner: this key stays reserved until then.`

/** `countersign renounce <did>`: gives up the agent's own certificate. */
export function renounceCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('renounce')))
    .description('give up your own certificate and DID')
    .argument('<did>', 'your full DID (countersign whoami shows it); this cannot be undone')
    .addHelpText('after', HELP)
    .action((did: string) => renounce(did, cli))
}

async function renounce(did: string, cli: Invocation): Promise<void> {
  const naming = assertDid(did)
  const signer = await cli.ownKey()
  const registry = cli.registry(naming)
  const renounced = await new Agent({ registry, signer, did }).renounce()
  const { status, statusReason, statusChangedAt, finalAt } = renounced
  const rows = [
    ['DID', did],
    ['Status', status],
    ['Reason', statusReason ?? '-'],
    ['Since', formatMinute(statusChangedAt)],
    ...(finalAt === null ? [] : ([['Revoked on', formatMinute(finalAt)]] as const)),
  ] as const
  const title = cli.heading(`${did} is ${status}`)
  cli.print(registry.rawOf(renounced), `${title}\n\n${fields(rows)}`)
}
