import type { DidDocument } from '@countersign/protocol'
import type { Command } from 'commander'
import { fetchDidDocument } from '../endpoints.ts'
import { Failure } from '../failure.ts'
import { jsonText, print } from '../output.ts'
import { didOfDidWeb, parseReference } from '../reference.ts'
import { serviceOf, takesService } from '../settings.ts'

const HELP = `
A revoked agent has a document too, with no key in it: it is printed, and the exit code is 4.`

/** `countersign resolve <did>` (contract 4.7). */
export function resolveCommand(program: Command): void {
  takesService(program.command('resolve'))
    .description("print an agent's DID document")
    .argument('<did>', 'a DID, or the did:web form of it')
    .addHelpText('after', HELP)
    .action(resolve)
}

async function resolve(text: string, _options: unknown, command: Command): Promise<void> {
  const reference = parseReference(didOfDidWeb(text) ?? text)
  const { document, revoked } = await fetchDidDocument(serviceOf(command), reference)
  if (text.startsWith('did:web:')) requireSameHost(text, document)
  print(command, document, jsonText(document, 2))
  if (revoked) throw new Failure('REVOKED', 'This agent is revoked: nothing it signs counts.')
}

/** Another host may speak of the same DID; only the one in a did:web speaks for it. */
function requireSameHost(didWeb: string, { id }: DidDocument): void {
  if (id.toLowerCase() === didWeb.toLowerCase()) return
  throw new Failure('USAGE', `This service answers for ${id}. Ask the one in ${didWeb}: --url`)
}
