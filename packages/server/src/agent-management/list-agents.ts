import { gradeOf, type OwnerAgents, type OwnerAgentsQuery } from '@countersign/protocol'
import type { OwnerRecord } from '../agents/agent-record.ts'
import { displayNameOf } from '../agents/card.ts'
import { loadOwner, loadRecord } from '../agents/read-model/rows.ts'
import type { AgentRow } from '../core/database/database.ts'
import type { CoreDeps } from '../core/deps.ts'
import type { Site } from '../core/site.ts'
import { describeOwnAgent } from './own-agent.ts'
import { countByStatus, ownAgents } from './own-agent-table.ts'

const PAGE = 50
const ROWS_AT_ONCE = 100
/** So many agents are looked at for one page; where few of them fit, the page is short and there is a next one. */
const MOST_ROWS = 5000

type ListDeps = Pick<CoreDeps, 'db' | 'site' | 'now'>

/** An owner's agents, newest first, a page at a time. */
export async function listAgents(
  deps: ListDeps,
  ownerId: number,
  query: OwnerAgentsQuery,
): Promise<OwnerAgents> {
  const { read } = deps.db
  const at = deps.now()
  const owner = await loadOwner(read, ownerId)
  const { rows, next } = await findPage(deps, owner, query, at)
  const agents = []
  for (const row of rows) agents.push(await describeOwnAgent(read, deps.site, row, owner, at))
  return {
    agents,
    next: next === null ? null : String(next),
    counts: await countByStatus(read, ownerId),
  }
}

interface Page {
  readonly rows: readonly AgentRow[]
  /** The page that follows begins before this number; null: none follows. */
  readonly next: number | null
}

/** Neither a grade nor the case of every letter is known to the database: what it finds is looked at once more. */
async function findPage(
  { db, site }: ListDeps,
  owner: OwnerRecord,
  { search, status, grade, after }: OwnerAgentsQuery,
  at: number,
): Promise<Page> {
  const text = search === undefined || search === '' ? null : search
  const containing = text && withoutPrefix(site, text)
  const rows: AgentRow[] = []
  let before = after === undefined ? Number.MAX_SAFE_INTEGER : Number(after)
  for (let seen = 0; seen < MOST_ROWS; seen += ROWS_AT_ONCE) {
    const wanted = { ownerId: owner.id, before, status: status ?? null, containing }
    const found = await ownAgents(db.read, wanted, ROWS_AT_ONCE)
    for (const row of found) {
      const agent = await loadRecord(db.read, row)
      const facts = { status: row.status, channels: agent.profile.channels, now: at }
      const { verifications } = owner
      if (grade !== undefined && gradeOf({ ...facts, verifications }).grade !== grade) continue
      if (text !== null && !contains(site, row, displayNameOf(agent), text)) continue
      if (rows.length === PAGE) return { rows, next: rows.at(-1)?.seq ?? null }
      rows.push(row)
    }
    if (found.length < ROWS_AT_ONCE) return { rows, next: null }
    before = found.at(-1)?.seq ?? 0
  }
  return { rows, next: before }
}

/** The database holds the last part of a DID only. */
function withoutPrefix({ naming }: Site, text: string): string {
  return text.toLowerCase().startsWith(naming.didPrefix)
    ? text.slice(naming.didPrefix.length)
    : text
}

function contains(site: Site, row: AgentRow, displayName: string, text: string): boolean {
  const has = (value: string | null, part: string) =>
    value?.toLowerCase().includes(part.toLowerCase()) ?? false
  const { username, description, agent_id: agentId, tail } = row
  if (has(tail, withoutPrefix(site, text))) return true
  return [displayName, username, description, agentId].some((value) => has(value, text))
}
