import { Agent } from '@countersign/sdk'
import { fields } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { assertDid } from '../did.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { ownAgent } from '../own-agent.ts'

const HELP = `
Use it if a delegate misbehaves, or if its key was stolen. Every chain that you have signed is refused from now on, everywhere within
seconds. You stay active, and can delegate again as soon as the command returns. Repeating it is safe; 60 times an hour are allowed.`

/** `countersign end-delegations [did]`: ends everything that the agent has delegated. */
export function endDelegationsCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('end-delegations')))
    .description('end everything that you have delegated')
    .argument('[did]', 'your DID, if your key has several')
    .addHelpText('after', HELP)
    .action((did: string | undefined) => endDelegations(did, cli))
}

async function endDelegations(given: string | undefined, cli: Invocation): Promise<void> {
  const agent = given === undefined ? (await ownAgent(cli, [])).agent : await agentOf(given, cli)
  const ended = await agent.endDelegations()
  const title =
    ended.endedAt === null ? 'You may not delegate: nothing to end' : 'All delegations have ended'
  const rows = [
    ['DID', ended.did],
    ['Ended at', ended.endedAt ?? '-'],
  ] as const
  cli.print(agent.registry.rawOf(ended), `${cli.heading(title)}\n\n${fields(rows)}`)
}

async function agentOf(did: string, cli: Invocation): Promise<Agent> {
  const registry = cli.registry(assertDid(did))
  return new Agent({ registry, signer: await cli.ownKey(), did })
}
