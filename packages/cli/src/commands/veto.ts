import { Agent } from '@countersign/sdk'
import { fields } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { assertDid } from '../did.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'

const HELP = `
Use it if your key is not lost: the owner took it for lost, or somebody else uses the owner's account. The recovery ends, and
your key stays. It does not work if the owner reported the key as compromised.`

/** `countersign veto <did>`: ends a recovery with the agent's own key. */
export function vetoCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('veto')))
    .description('end a recovery that would replace your key')
    .argument('<did>', 'your whole DID')
    .addHelpText('after', HELP)
    .action((did: string) => veto(did, cli))
}

async function veto(did: string, cli: Invocation): Promise<void> {
  const naming = assertDid(did)
  const signer = await cli.ownKey()
  const registry = cli.registry(naming)
  const vetoed = await new Agent({ registry, signer, did }).vetoRecovery()
  const rows = [
    ['DID', did],
    ['Key number', String(vetoed.keySequence)],
  ] as const
  cli.print(vetoed, `${cli.heading('The recovery has ended')}\n\n${fields(rows)}`)
}
