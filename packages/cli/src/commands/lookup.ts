import { assertReference, certificateRows, fields } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesService } from '../invocation.ts'

const HELP = `
Exit code 0: the agent exists, whatever its status. Exit code 3: there is no such agent. A DID alone proves nothing,
since anyone can send one. To check that a caller holds the key, use: countersign verify <did>`

/** `countersign lookup <did|tail|key>` (contract 4.1, 4.2). */
export function lookupCommand(program: Command, cli: Invocation): void {
  takesService(program.command('lookup'))
    .description("show an agent's certificate status and its owner's identity level")
    .argument('<agent>', 'a DID, its last 24 characters, or a public key in base64')
    .addHelpText('after', HELP)
    .action((agent: string) => lookup(agent, cli))
}

async function lookup(agent: string, cli: Invocation): Promise<void> {
  assertReference(agent)
  const registry = cli.registry()
  const found = await registry.lookup(agent)
  const { id, status } = found.certificate
  const title = cli.verdict(status === 'active', `${id} is ${status}`)
  const text = `${title}\n\n${fields(certificateRows(cli.service, found, {}))}`
  cli.print(registry.rawOf(found), text)
}
