import {
  type AgentStatus,
  CodedError,
  didOf,
  type Naming,
  parseDidOrTail,
  type Tail,
} from '@countersign/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import { ownerById } from '../../accounts/owner-table.ts'
import { agentByTail, agentsAfter, agentsOfOwner } from '../../agents/agent-table.ts'
import { suspensionOfKey } from '../../agents/keys/key-table.ts'
import { reportByOperator } from '../../agents/keys/report-key.ts'
import { changeStatus } from '../../agents/manage/change-status.ts'
import type { Env } from '../../base/config.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { AgentRow, Db } from '../../database/database.ts'
import { withData } from './command-context.ts'
import { print, table } from './output.ts'
import { requireOwner } from './owner.ts'

const PAGE = 1000

const CHANGES = [
  {
    name: 'suspend',
    to: 'suspended',
    does: 'suspend an agent and its key: every agent with the key, and claims of it',
  },
  {
    name: 'reactivate',
    to: 'active',
    does: 'lift the suspension of an agent and its key, also if the agent was revoked meanwhile',
  },
  {
    name: 'revoke',
    to: 'revoked',
    does: 'revoke a certificate permanently; with --reason key_compromised, nobody can use its key again',
  },
] as const

export function agentCommands(program: Command, env: Env): void {
  const agent = program.command('agent').description('certificates')

  agent
    .command('list')
    .description('list agents, oldest claim first')
    .option('--owner <username>', 'only those of one owner')
    .action((options: { owner?: string }, command: Command) => list(env, options, command))

  for (const { name, to, does } of CHANGES) {
    agent
      .command(name)
      .description(does)
      .argument('<did>', 'the DID, or its last 24 characters')
      .option('--reason <code>', 'why: a word such as key_compromised, which everyone can read')
      .action((did: string, options: { reason?: string }, command: Command) =>
        change(env, did, to, options.reason ?? null, command),
      )
  }

  agent
    .command('report-key')
    .description(
      'report a key as compromised: every agent with it is suspended, nobody can use it again',
    )
    .argument('<did>', 'the DID that has or had the key, or its last 24 characters')
    .option('--sequence <n>', 'the number of the key; default: the current key', parseSequence)
    .action((did: string, options: ReportOptions, command: Command) =>
      reportKey(env, did, options, command),
    )
}

interface ReportOptions {
  readonly sequence?: number
}

async function reportKey(
  env: Env,
  reference: string,
  { sequence = null }: { readonly sequence?: number | null },
  command: Command,
): Promise<void> {
  const reported = await withData(env, async ({ db, settings, now }) => {
    const tail = requireTail(settings.naming, reference)
    const number = await reportByOperator({ db, now }, tail, sequence)
    const { status } = (await agentByTail(db.read, tail)) as AgentRow
    return { did: didOf(settings.naming, tail), sequence: number, status }
  })
  const { did, sequence: number, status } = reported
  const text = `Key ${number} of ${did} is burned: nobody can use it any more. The agent is ${status}.`
  print(command, reported, text)
}

function parseSequence(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is the number of a key, from 1.')
}

/** @throws CodedError VALIDATION_ERROR */
function requireTail(naming: Naming, reference: string): Tail {
  const tail = parseDidOrTail(naming, reference)
  if (tail !== null) return tail
  throw new CodedError('VALIDATION_ERROR', `A DID is ${naming.didPrefix} and 24 characters.`)
}

async function change(
  env: Env,
  reference: string,
  to: AgentStatus,
  reason: string | null,
  command: Command,
): Promise<void> {
  const { did, status, keySuspended } = await withData(env, async ({ db, settings, now }) => {
    const tail = requireTail(settings.naming, reference)
    const request = { tail, to, reason, by: 'operator' } as const
    const status = await changeStatus({ db, now }, request)
    const key = (await agentByTail(db.read, tail))?.public_key
    const keySuspended = key !== undefined && (await suspensionOfKey(db.read, key)) !== undefined
    return { did: didOf(settings.naming, tail), status, keySuspended }
  })
  const lines = [`${did} is ${status}.`]
  if (keySuspended) {
    lines.push(`Its key is suspended. To lift that: countersignd agent reactivate ${did}`)
  } else if (status !== to) lines.push('Its key is no longer suspended.')
  print(command, { did, status, reason, keySuspended }, lines.join('\n'))
}

async function list(env: Env, { owner }: { owner?: string }, command: Command): Promise<void> {
  const agents = await withData(env, async ({ db, settings }) => {
    const usernames = new Map<number, string>()
    const described = []
    for await (const row of selectAgents(db.read, owner)) {
      const username =
        usernames.get(row.owner_id) ?? (await ownerById(db.read, row.owner_id))?.username ?? '-'
      usernames.set(row.owner_id, username)
      described.push(describe(settings.naming.didPrefix, row, username))
    }
    return described
  })
  const rows = agents.map((each) => [
    each.did,
    each.status,
    each.owner,
    each.agentId,
    each.claimedAt,
  ])
  print(command, agents, table(['DID', 'STATUS', 'OWNER', 'AGENT ID', 'CLAIMED'], rows))
}

async function* selectAgents(db: Db, owner: string | undefined): AsyncGenerator<AgentRow> {
  if (owner !== undefined) {
    yield* await agentsOfOwner(db, (await requireOwner(db, owner)).id)
    return
  }
  for (let after = 0; ; ) {
    const page = await agentsAfter(db, after, PAGE)
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last.seq
  }
}

function describe(didPrefix: string, row: AgentRow, owner: string) {
  return {
    did: `${didPrefix}${row.tail}`,
    status: row.status,
    statusReason: row.status_reason,
    owner,
    agentId: row.agent_id,
    claimedAt: timestamp(row.claimed_at),
  }
}
