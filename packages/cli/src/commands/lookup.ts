import type { Command } from 'commander'
import { describeCertificate } from '../certificate.ts'
import { lookUp } from '../endpoints.ts'
import { fields, print, verdict } from '../output.ts'
import { parseReference } from '../reference.ts'
import { serviceOf, takesService } from '../settings.ts'

const HELP = `
Exit code 0 says that there is such an agent, whatever its status; 3 that there is none. A DID is not a proof: anyone
can name one. Whether a caller holds its key: countersign verify <did>`

/** `countersign lookup <did|tail|key>` (contract 4.1, 4.2). */
export function lookupCommand(program: Command): void {
  takesService(program.command('lookup'))
    .description("show an agent's certificate status and its owner's identity level")
    .argument('<agent>', 'a DID, its last 24 characters, or a public key in base64')
    .addHelpText('after', HELP)
    .action(lookup)
}

async function lookup(agent: string, _options: unknown, command: Command): Promise<void> {
  const reference = parseReference(agent)
  const service = serviceOf(command)
  const found = await lookUp(service, reference)
  const { id, status } = found.certificate
  const title = verdict(status === 'active', `${id} is ${status}`)
  print(command, found, `${title}\n\n${fields(describeCertificate(service, found))}`)
}
