import { randomBytes } from 'node:crypto'
import { AGENT_STATUSES, ASSURANCES, type Tail } from '@countersign/protocol'
import type { AgentRow, Db } from '../../database/database.ts'
import { agentsAfter, countAgents, preferredTailOfKey } from '../agent-table.ts'
import { AgentIndex } from './agent-index.ts'
import { loadAll } from './load-agents.ts'

const PAGE_SIZE = 2000

/**
 * Loads all agents as the service does, and compares them with the rows of the table; also checks columns whose values
 * are a closed set.
 * @returns what differs first, or null
 */
export async function findMismatch(db: Db): Promise<string | null> {
  const count = await countAgents(db)
  const index = new AgentIndex(Math.max(1, count), randomBytes)
  const assurances = new Set<string>()
  const isLoaded = await loadAll({ db, file: null }, index, count, ({ verifications }) => {
    for (const { assurance } of verifications) assurances.add(assurance)
  })
  if (!isLoaded) return 'agents were added meanwhile: run it again'
  const unknown = [...assurances].filter((each) => !ASSURANCES.some((known) => known === each))
  if (unknown.length > 0) return `an assurance level is unknown: ${unknown.join(', ')}`
  for (let after = 0; ; ) {
    const rows = await agentsAfter(db, after, PAGE_SIZE)
    for (const row of rows) {
      const fault = (await rowFault(db, row)) ?? viewFault(index, row)
      if (fault !== null) return `agent ${row.tail}: ${fault}`
    }
    const last = rows.at(-1)
    if (last === undefined) return null
    after = last.seq
  }
}

async function rowFault(db: Db, { status, public_key }: AgentRow): Promise<string | null> {
  if (!AGENT_STATUSES.includes(status)) return 'its status is unknown'
  const found = await preferredTailOfKey(db, public_key)
  return found === undefined ? 'it is not found by its key' : null
}

function viewFault(index: AgentIndex, row: AgentRow): string | null {
  const seen = index.peek(row.tail as Tail)
  if (seen === null) return 'a lookup does not find it'
  // A service that runs may have changed it since it was loaded.
  if (seen.version < row.version) return null
  const isSame =
    seen.status === row.status &&
    seen.ownerId === row.owner_id &&
    Buffer.compare(seen.publicKey, row.public_key) === 0
  return isSame ? null : 'a lookup shows other values than its row'
}
