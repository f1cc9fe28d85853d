import { gradeOf, type OwnerAgents, type OwnerAgentsQuery } from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import type { AgentRow } from '../../database/database.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { OwnerRecord } from '../agent-record.ts'
import { displayNameOf } from '../card.ts'
import { loadOwner, loadRecord } from '../read-model/rows.ts'
import { responsiblePersons } from '../responsible/responsible-person.ts'
import { describeOwnAgent } from './own-agent.ts'
import { countByStatus, ownAgents } from './own-agent-table.ts'

const PAGE_SIZE = 50
const BATCH_SIZE = 100
/** At most this many rows are scanned for one page. If few match, the page is short and has a `next`. */
const MAX_ROWS = 5000

type ListDeps = Pick<CoreDeps, 'db' | 'site' | 'now'>

/** A page of an owner's agents, by default newest first, with the number of agents in each status. */
export async function listAgents(
  deps: ListDeps,
  ownerId: number,
  query: OwnerAgentsQuery,
): Promise<OwnerAgents> {
  const { read } = deps.db
  const at = deps.now()
  const owner = await loadOwner(read, ownerId)
  const { rows, next } = await findPage(deps, owner, query, at)
  const whose = { owner, persons: await responsiblePersons(read, rows) }
  const agents = []
  for (const row of rows) agents.push(await describeOwnAgent(read, deps.site, row, whose, at))
  return {
    agents,
    next: next === null ? null : String(next),
    counts: await countByStatus(read, ownerId),
  }
}

interface Page {
  readonly rows: readonly AgentRow[]
  /** The `seq` of the agent after which the next page begins; null if this is the last page. */
  readonly next: number | null
}

/** Filters again what the database finds, since it knows no grades and compares only ASCII case-insensitively. */
async function findPage(
  { db, site }: ListDeps,
  owner: OwnerRecord,
  { search, status, grade, responsible, enrolled, sort = 'newest', after: start }: OwnerAgentsQuery,
  at: number,
): Promise<Page> {
  const text = search === undefined || search === '' ? null : search
  const containing = text && withoutPrefix(site, text)
  const rows: AgentRow[] = []
  let after = start === undefined ? null : Number(start)
  for (let scanned = 0; scanned < MAX_ROWS; scanned += BATCH_SIZE) {
    const chosen = { status: status ?? null, responsible: responsible ?? null }
    const only = { ...chosen, containing, enrolled: enrolled ?? null }
    const filter = { ownerId: owner.id, after, order: sort, ...only }
    const found = await ownAgents(db.read, filter, BATCH_SIZE)
    for (const row of found) {
      const agent = await loadRecord(db.read, row)
      const input = { status: row.status, channels: agent.profile.channels, now: at }
      const { verifications } = owner
      if (grade !== undefined && gradeOf({ ...input, verifications }).grade !== grade) continue
      if (text !== null && !matchesText(site, row, displayNameOf(agent), text)) continue
      if (rows.length === PAGE_SIZE) return { rows, next: rows.at(-1)?.seq ?? null }
      rows.push(row)
    }
    if (found.length < BATCH_SIZE) return { rows, next: null }
    after = found.at(-1)?.seq ?? null
  }
  return { rows, next: after }
}

/** The database stores only the tail of a DID. */
function withoutPrefix({ naming }: Site, text: string): string {
  return text.toLowerCase().startsWith(naming.didPrefix)
    ? text.slice(naming.didPrefix.length)
    : text
}

function matchesText(site: Site, row: AgentRow, displayName: string, text: string): boolean {
  const has = (value: string | null, part: string) =>
    value?.toLowerCase().includes(part.toLowerCase()) ?? false
  const { username, description, agent_id: agentId, tail } = row
  if (has(tail, withoutPrefix(site, text))) return true
  return [displayName, username, description, agentId].some((value) => has(value, text))
}
