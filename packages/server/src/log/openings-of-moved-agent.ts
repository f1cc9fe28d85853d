import type { AgentEffect } from '../agents/changes/change-agent.ts'
import { setOpeningOwner } from './opening-table.ts'

/** What an agent's entries commit to stays with the owner who gave it away: it may tell what they did. */
export const openingsOfMovedAgent: AgentEffect = {
  on: ['agent.owner_changed'],
  makes: [],
  run: (tx, { before }) => setOpeningOwner(tx, before, before.owner_id),
}
