import { encodeBase64, TAIL_LENGTH } from '@countersign/protocol'
import type { Card } from '@countersign/sdk'
import {
  assertReference,
  Failure,
  fields,
  parseOrigin,
  printable,
  STATUS_WORDS,
} from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type ClientMetadata, readClientMetadata } from '../client-metadata.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { SHEETS, type Sheet, type SheetField } from '../submission-sheets.ts'

const HELP = `
Prints what the registry asks for, filled in from your client metadata document and your card. Nothing is submitted. Fields that
nobody but you knows are marked with "fill in". Forms change: check the names of the fields.`

const LIST_HELP = `
Prints the registries that have a sheet. Some registries are lists of signature agent cards, one URL in each line
(draft-meunier-webbotauth-registry). To enter such a list, send the URL of your card to its publisher.`

interface SheetOptions {
  readonly contact?: string
  readonly userAgent?: string
  readonly signatureAgent?: string
}

type SheetName = keyof typeof SHEETS

/** `countersign registry aws|cloudflare|list`: submission sheets for bot registries. */
export function registryCommand(program: Command, cli: Invocation): void {
  const command = program
    .command('registry')
    .description('print what bot registries ask for, to submit your agent')
  sheetCommand(command, 'aws', 'AWS Agent Registry, for AWS WAF', cli)
  sheetCommand(command, 'cloudflare', "Cloudflare's bots and agents directory", cli)
    .option('--user-agent <text>', 'the User-Agent that the agent sends')
    .option('--signature-agent <origin>', 'the origin at which you publish your key')
  takesAgent(command.command('list'))
    .description('print the registries, and the URL of your signature agent card')
    .addHelpText('after', LIST_HELP)
    .action((agent: string | undefined) => list(agent, cli))
}

function sheetCommand(parent: Command, name: SheetName, where: string, cli: Invocation): Command {
  return takesAgent(parent.command(name))
    .description(`print the submission sheet for ${where}`)
    .option('--contact <address>', 'an e-mail address or URL for questions about the agent')
    .addHelpText('after', HELP)
    .action((agent: string | undefined, options: SheetOptions) => sheet(name, agent, options, cli))
}

function takesAgent(command: Command): Command {
  return takesKey(takesService(command))
    .argument('[agent]', 'a DID, its last 24 characters, or a public key; default: your own agent')
    .option('--json', 'print the result as JSON')
}

async function sheet(
  name: SheetName,
  agent: string | undefined,
  { contact, userAgent, signatureAgent }: SheetOptions,
  cli: Invocation,
): Promise<void> {
  const origin =
    signatureAgent === undefined ? undefined : parseOrigin(signatureAgent, '--signature-agent')
  const found = await readAgent(agent, cli)
  const result = SHEETS[name]({ ...found, contact, userAgent, signatureAgent: origin })
  cli.print({ registry: name, ...result }, sheetText(cli, result))
}

function sheetText(
  cli: Invocation,
  { title, submitAt, requirements, fields: asked }: Sheet,
): string {
  const rows = [
    ['Submit at', submitAt] as const,
    ['Requirements', requirements] as const,
    ...asked.map((each) => [each.label, valueText(each)] as const),
  ]
  return `${cli.heading(title)}\n\n${fields(rows)}`
}

function valueText({ value, hint }: SheetField): string {
  return value ?? `(fill in: ${hint})`
}

async function list(agent: string | undefined, cli: Invocation): Promise<void> {
  const found = await readAgent(agent, cli)
  const registries = (Object.keys(SHEETS) as SheetName[]).map((name) => {
    const { title, submitAt, requirements } = SHEETS[name](found)
    return { registry: name, title, submitAt, requirements }
  })
  const { clientId } = found.metadata
  const lines = registries.map(
    ({ registry, title }) => `  ${cli.command} registry ${registry.padEnd(12)}${printable(title)}`,
  )
  const text = `${lines.join('\n')}\n\nFor registries that are lists of signature agent cards:\n  ${printable(clientId)}`
  cli.print({ registries, signatureAgentCard: clientId }, text)
}

/** @throws Failure AGENT_NOT_ACTIVE: only active agents have a client metadata document */
async function readAgent(
  agent: string | undefined,
  cli: Invocation,
): Promise<{ readonly card: Card; readonly metadata: ClientMetadata }> {
  const reference = agent ?? encodeBase64((await cli.ownKey()).publicKey)
  assertReference(reference)
  const card = await cli.registry().card(reference)
  if (card.status !== 'active') {
    const message = `This agent is ${STATUS_WORDS[card.status]}. Registries take only active agents.`
    throw new Failure('AGENT_NOT_ACTIVE', message)
  }
  const metadata = await readClientMetadata(cli, card.did.slice(-TAIL_LENGTH))
  if (new URL(metadata.clientId).protocol !== 'https:') {
    cli.warn(`${metadata.clientId} is not https, so registries cannot read it.`)
  }
  return { card, metadata }
}
