import { referenceKind } from '@countersign/protocol'
import type { DidDocument } from '@countersign/sdk'
import { assertReference, Failure } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesService } from '../invocation.ts'
import { jsonText } from '../output.ts'

const HELP = `
The document of a revoked agent contains no keys. It is printed, and the exit code is 4.`

/** `countersign resolve <did>` (contract 4.7). */
export function resolveCommand(program: Command, cli: Invocation): void {
  takesService(program.command('resolve'))
    .description("print an agent's DID document")
    .argument('<did>', 'a DID, or the did:web form of it')
    .addHelpText('after', HELP)
    .action((did: string) => resolve(did, cli))
}

async function resolve(text: string, cli: Invocation): Promise<void> {
  const reference = didOfDidWeb(text) ?? text
  assertReference(reference)
  const registry = cli.registry()
  const { document, revoked } = await registry.resolve(reference)
  if (text.startsWith('did:web:')) assertSameHost(text, document)
  const raw = registry.rawOf(document)
  cli.print(raw, jsonText(raw, 2))
  if (revoked) throw new Failure('REVOKED', 'This agent is revoked. Do not accept its signatures.')
}

/** The DID within a did:web (`did:web:{host}:agent:{did}`); null if the text is not the did:web of an agent. */
function didOfDidWeb(text: string): string | null {
  const did = /^did:web:.+?:agent:([^:]+:agent:[^:]+)$/.exec(text)?.[1]
  return did !== undefined && referenceKind(did) === 'did' ? did : null
}

/** Only the host in a did:web is authoritative for it. */
function assertSameHost(didWeb: string, { id }: DidDocument): void {
  if (id.toLowerCase() === didWeb.toLowerCase()) return
  throw new Failure(
    'USAGE',
    `This service is authoritative for ${id} only. To resolve ${didWeb}, give its service with --url.`,
  )
}
