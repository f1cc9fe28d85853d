import { Agent } from '@countersign/sdk'
import { fields } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { assertDid } from '../did.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'

const HELP = `
Use it if somebody else has the key. It works with a current or former key of the DID, also if the DID is revoked. Nobody can use
the key any more, and every agent that has it is suspended until its owner recovers it with a new key.`

/** `countersign report-key <did>`: reports the agent's own key as compromised. */
export function reportKeyCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('report-key')))
    .description('report your key as stolen, which burns it')
    .argument('<did>', 'the full DID that has or had the key; this cannot be undone')
    .addHelpText('after', HELP)
    .action((did: string) => reportKey(did, cli))
}

async function reportKey(did: string, cli: Invocation): Promise<void> {
  const naming = assertDid(did)
  const signer = await cli.ownKey()
  const registry = cli.registry(naming)
  const reported = await new Agent({ registry, signer, did }).reportKey()
  const rows = reported.keys.map((key) => [`Key ${key.sequence}`, key.state] as const)
  const title = cli.heading('Your key is reported as compromised')
  cli.print(registry.rawOf(reported), `${title}\n\n${fields([['DID', did], ...rows])}`)
}
