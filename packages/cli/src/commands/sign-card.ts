import { readFileSync, writeFileSync } from 'node:fs'
import { encodeBase64 } from '@countersign/protocol'
import type { Registry } from '@countersign/sdk'
import { codeOf, Failure } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { readAgentCard, signAgentCard } from '../agent-card.ts'
import { refusesChain } from '../chain-option.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { jsonText } from '../output.ts'

const HELP = `
Adds a signature (JWS, Ed25519, over the canonical card) to an A2A 1.0 agent card and prints the card. The card must contain
the identity extension, which the dashboard shows to the owner. Publish the signed card unchanged: any change invalidates
the signature. If the DID in the card has another key at the service, the command refuses to sign (exit code 4).`

/** Error codes for a DID that the service did not issue, or that has the short name of another service. */
const UNKNOWN_DID: readonly string[] = ['NOT_FOUND', 'VALIDATION_ERROR']

interface SignCardOptions {
  readonly output?: string
}

/** `countersign sign-card <file>`: signs an A2A agent card, which proves an agent-to-agent channel. */
export function signCardCommand(program: Command, cli: Invocation): void {
  refusesChain(takesKey(takesService(program.command('sign-card'))))
    .description('sign the A2A agent card that contains your DID')
    .argument('<file>', 'the agent card, JSON')
    .option('-o, --output <file>', 'write the signed card to this file; it may be the input file')
    .addHelpText('after', HELP)
    .action((file: string, options: SignCardOptions) => signCard(file, options, cli))
}

async function signCard(file: string, { output }: SignCardOptions, cli: Invocation): Promise<void> {
  const key = await cli.ownKey()
  const read = await readAgentCard(readText(cli.path(file), file), file)
  const keyId = await findKeyId(cli.registry(), read.dids, encodeBase64(key.publicKey))
  const signed = await signAgentCard(read, key, keyId)
  if (output === undefined) return cli.print(signed, jsonText(signed, 2))
  const path = cli.path(output)
  writeFileSync(path, `${jsonText(signed, 2)}\n`)
  const text = `${cli.heading(`Signed: ${output}`)}\n\nPublish it at /.well-known/agent-card.json.`
  cli.print({ file: path, keyId }, text)
}

/**
 * The id of the key in the DID document of a named agent.
 * @throws Failure ANOTHER_AGENT if the key belongs to none of them
 */
async function findKeyId(
  registry: Registry,
  dids: readonly string[],
  publicKey: string,
): Promise<string> {
  for (const did of dids) {
    const methods = await methodsOf(registry, did)
    const own = methods.find(({ publicKeyBase64 }) => publicKeyBase64 === publicKey)
    if (own !== undefined) return own.id
  }
  throw new Failure(
    'ANOTHER_AGENT',
    `The card names ${dids.join(', ')}. At ${registry.service}, that agent has another key or is not active.`,
  )
}

async function methodsOf(registry: Registry, did: string) {
  try {
    return (await registry.resolve(did)).document.verificationMethod
  } catch (error) {
    if (UNKNOWN_DID.includes(codeOf(error))) return []
    throw error
  }
}

function readText(path: string, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (cause) {
    throw new Failure('USAGE', `${name} cannot be read as UTF-8.`, { cause })
  }
}
