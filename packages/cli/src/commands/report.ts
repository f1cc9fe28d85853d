import { readFile } from 'node:fs/promises'
import { type AgentReport, type Evidence, reportAgent, reportStatus } from '@countersign/sdk'
import { Failure, fields, formatMinute } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesService } from '../invocation.ts'

const HELP = `
The file has the JSON of one to five requests, as evidenceOf() of the SDK makes it: an object or a list of objects with method, url and
headers. Only what the signature covers is needed. Choose requests without credentials.

The requests prove that a key of the agent signed them for your host, at the times that the signer wrote. They do not prove abuse, and
nothing follows from a report by itself: the owner of the agent reads it.

The command prints a token, once. With it in COUNTERSIGN_REPORT_TOKEN, you read the answer:
  $ countersign report --status rp_…`

const CATEGORIES = ['rate', 'fraud', 'scraping', 'impersonation', 'other'] as const
const MAX_BYTES = 64 * 1024

interface ReportFlags {
  readonly agent?: string
  readonly category?: string
  readonly text?: string
  readonly contact?: string
  readonly evidence?: string
  readonly status?: string
}

/** `countersign report`: tells the owner of an agent what it did, with requests that it signed. */
export function reportCommand(program: Command, cli: Invocation): void {
  takesService(program.command('report'))
    .description('report an agent to its owner, with requests that it signed')
    .option('--agent <did>', 'the agent')
    .option('--category <category>', CATEGORIES.join(', '))
    .option('--text <text>', 'what happened, in at most 1,000 characters')
    .option('--evidence <file>', 'the signed requests, as JSON')
    .option('--contact <email>', 'an address that the owner may write to')
    .option('--status <report>', 'show what became of a report, with its token')
    .addHelpText('after', HELP)
    .action((flags: ReportFlags) =>
      flags.status === undefined ? send(flags, cli) : showStatus(flags.status, cli),
    )
}

async function send(flags: ReportFlags, cli: Invocation): Promise<void> {
  const { agent, category, text, evidence: file, contact = null } = flags
  if (agent === undefined || text === undefined || file === undefined || category === undefined) {
    throw new Failure('USAGE', 'Name --agent, --category, --text and --evidence, or --status.')
  }
  if (!isCategory(category)) {
    throw new Failure('USAGE', `--category is one of ${CATEGORIES.join(', ')}.`)
  }
  const evidence = await readEvidence(cli.path(file))
  const registry = cli.registry()
  const sent = await reportAgent(registry, { agent, category, text, contact, evidence })
  const rows = [
    ['Report', sent.id],
    ['Received', formatMinute(sent.receivedAt)],
    ['Token', sent.token],
  ] as const
  const title = cli.heading('The owner of the agent is notified')
  const next = 'Store the token: it is shown once, and reads the answer.'
  cli.print(registry.rawOf(sent), `${title}\n\n${fields(rows)}\n\n${next}`)
}

async function showStatus(id: string, cli: Invocation): Promise<void> {
  const token = cli.io.env.COUNTERSIGN_REPORT_TOKEN
  if (!token) throw new Failure('USAGE', '--status needs the token in COUNTERSIGN_REPORT_TOKEN.')
  const registry = cli.registry()
  const status = await reportStatus(registry, { id, token })
  const { state, answer, answeredAt } = status
  const rows = [
    ['Report', id],
    ['State', state],
    ...(answeredAt === null ? [] : [['Answered', formatMinute(answeredAt)] as const]),
    ...(answer === null ? [] : [['Answer', answer] as const]),
  ] as const
  cli.print(registry.rawOf(status), fields(rows))
}

function isCategory(text: string): text is AgentReport['category'] {
  return CATEGORIES.some((each) => each === text)
}

/** @throws Failure USAGE */
async function readEvidence(file: string): Promise<readonly Evidence[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (cause) {
    throw new Failure('USAGE', `${file} cannot be read.`, { cause })
  }
  try {
    if (text.length > MAX_BYTES) throw new Error('too large')
    return [JSON.parse(text)].flat() as Evidence[]
  } catch (cause) {
    throw new Failure('USAGE', `${file} has no JSON of at most 64 KiB.`, { cause })
  }
}
