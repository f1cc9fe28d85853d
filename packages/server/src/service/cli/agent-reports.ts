import type { Command } from 'commander'
import {
  closeReport,
  type OperatorReport,
  reportForOperator,
  reportsOfEverybody,
} from '../../agents/reports/own-reports.ts'
import type { Env } from '../../base/config.ts'
import { siteOf } from '../../base/site.ts'
import { type CommandContext, withData } from './command-context.ts'
import { print, table } from './output.ts'

const MAX_LISTED = 200

export function reportCommands(program: Command, env: Env): void {
  const report = program
    .command('report')
    .description('reports about agents, by sites with requests that the agents signed')

  report
    .command('list')
    .description(`list the newest ${MAX_LISTED} reports`)
    .option('--agent <did>', 'only about this agent')
    .action(({ agent }: { agent?: string }, command: Command) => list(env, agent ?? null, command))

  report
    .command('show')
    .description('show the text of a report and its requests, without their queries')
    .argument('<report>', 'its id, from: countersignd report list')
    .action((id: string, _options: unknown, command: Command) => show(env, id, command))

  report
    .command('close')
    .description('close a report: the owner can no longer answer it')
    .argument('<report>', 'its id, from: countersignd report list')
    .action((id: string, _options: unknown, command: Command) => close(env, id, command))
}

const siteOfContext = ({ settings }: CommandContext) => siteOf(settings.naming, settings.baseUrl)

async function list(env: Env, agent: string | null, command: Command): Promise<void> {
  const reports = await withData(env, (context) =>
    reportsOfEverybody({ db: context.db, site: siteOfContext(context) }, agent, MAX_LISTED),
  )
  const rows = reports.map((each) => [
    each.id,
    each.receivedAt,
    each.state,
    each.category,
    each.host,
    each.agent,
  ])
  const headings = ['REPORT', 'RECEIVED', 'STATE', 'CATEGORY', 'REQUESTS TO', 'AGENT']
  print(command, reports, table(headings, rows))
}

async function show(env: Env, id: string, command: Command): Promise<void> {
  const report = await withData(env, (context) =>
    reportForOperator({ db: context.db, site: siteOfContext(context) }, id),
  )
  print(command, report, textOf(report))
}

/** The text is of a stranger: each of its lines is marked as a quotation. */
function textOf({ agent, host, category, state, receivedAt, text, requests }: OperatorReport) {
  const quoted = text === null ? ['(withdrawn)'] : text.split('\n').map((line) => `> ${line}`)
  return [
    `agent     ${agent}`,
    `requests  to ${host}`,
    `category  ${category}`,
    `state     ${state}`,
    `received  ${receivedAt}`,
    ...quoted,
    ...requests.map(({ method, path, signedAt }) => `${signedAt}  ${method} ${path}`),
    'A key of the agent signed these requests for this host. That proves neither abuse nor who reports it.',
  ].join('\n')
}

async function close(env: Env, id: string, command: Command): Promise<void> {
  await withData(env, ({ db }) => closeReport({ db }, id))
  print(command, { id, state: 'closed' }, `${id} is closed.`)
}
