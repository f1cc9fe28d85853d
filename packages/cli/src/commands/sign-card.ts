import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { type AgentCard, readAgentCard, signAgentCard } from '../agent-card.ts'
import { fetchDidDocument } from '../endpoints.ts'
import { Failure, ServiceRefusal } from '../failure.ts'
import { heading, jsonText, print } from '../output.ts'
import { ownKey } from '../own-key.ts'
import { parseReference } from '../reference.ts'
import { serviceOf, takesKey, takesService } from '../settings.ts'

const HELP = `
Adds a signature (JWS, Ed25519, over the canonical card) to an Agent Card of A2A 1.0, which names this agent by the
extension that its owner has been given, and prints the card. Publish it as it is: of a card that is changed, the
signature is void. Asks the service whose key the named DID has; refuses (exit code 4) where it is another's.`

/** A DID that the service has not issued, or that has another service's short name. */
const UNKNOWN: readonly string[] = ['NOT_FOUND', 'VALIDATION_ERROR']

/** `countersign sign-card <file>`: proves an agent-to-agent channel. */
export function signCardCommand(program: Command): void {
  takesKey(takesService(program.command('sign-card')))
    .description('sign the A2A agent card that names you')
    .argument('<file>', 'the agent card, JSON')
    .option('-o, --output <file>', 'write the signed card there; it may be the same file')
    .addHelpText('after', HELP)
    .action(signCard)
}

async function signCard(
  path: string,
  { output }: { output?: string },
  command: Command,
): Promise<void> {
  const key = ownKey(command)
  const read = await readAgentCard(textOf(path), path)
  const keyId = await keyIdOf(serviceOf(command), read.dids, key.publicKey)
  const signed = signAgentCard(read, key, keyId)
  if (output === undefined) return print(command, signed, jsonText(signed, 2))
  writeCard(resolve(output), signed)
  const text = `${heading(`Signed: ${output}`)}\n\nPublish it at /.well-known/agent-card.json.`
  print(command, { file: resolve(output), keyId }, text)
}

/**
 * What the named agent's DID document calls the key.
 * @throws Failure ANOTHER_AGENT where it is the key of none of them
 */
async function keyIdOf(service: URL, dids: readonly string[], publicKey: string): Promise<string> {
  for (const did of dids) {
    const methods = await methodsOf(service, did)
    const ours = methods.find(({ publicKeyBase64 }) => publicKeyBase64 === publicKey)
    if (ours !== undefined) return ours.id
  }
  throw new Failure(
    'ANOTHER_AGENT',
    `The card names ${dids.join(', ')}. At ${service.origin}, your key is not that agent's, or no longer.`,
  )
}

async function methodsOf(service: URL, did: string) {
  try {
    const { document } = await fetchDidDocument(service, parseReference(did))
    return document.verificationMethod
  } catch (error) {
    if (error instanceof ServiceRefusal && UNKNOWN.includes(error.code)) return []
    throw error
  }
}

function textOf(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (cause) {
    throw new Failure('USAGE', `${path} cannot be read as UTF-8.`, { cause })
  }
}

function writeCard(path: string, card: AgentCard): void {
  writeFileSync(path, `${jsonText(card, 2)}\n`)
}
