import { CodedError } from '@countersign/protocol'
import type { AgentView } from '../../agents/agent-record.ts'
import { agentByTail } from '../../agents/agent-table.ts'
import {
  type CertifiedState,
  type CurrentState,
  certifiedAt,
  certifiedBy,
  certifiedStateOf,
  isSameState,
  stillHolds,
} from '../../agents/changes/certified-state.ts'
import { evidenceNow } from '../../agents/changes/revise-status-entry.ts'
import {
  allocateEntry,
  currentEntry,
  replaceEntry,
  setCertifiedState,
} from '../../agents/changes/status-entry-table.ts'
import type { AgentRow, Database, StatusEntryRow, Tx } from '../../database/database.ts'

/** Where certificates find their status. */
export interface StatusReference {
  /** The number of the list, whose address is `<BASE_URL>/status/<list>`. */
  readonly list: number
  readonly idx: number
  /** When the entry was allocated, in milliseconds since 1970. */
  readonly allocatedAt: number
}

/** The address of a status list. @param baseUrl without a slash at the end */
export function statusListUri(baseUrl: string, list: number): string {
  return `${baseUrl}/status/${list}`
}

interface StatusEntryDeps {
  readonly db: Database
  readonly now: () => number
}

/**
 * The entry for a certificate of an agent. Allocates one with the first certificate, and whenever the certificate would state
 * more than those with the current entry.
 * @param view an active agent, as the certificate shows it
 * @throws CodedError AGENT_NOT_ACTIVE, or UNAVAILABLE if the agent has changed since the view was read; StorageFailure
 */
export async function entryFor(
  { db, now }: StatusEntryDeps,
  view: AgentView,
): Promise<StatusReference> {
  const at = now()
  const certified = certifiedStateOf(view, at)
  const entry = await currentEntry(db.pointReads, view.agent.tail)
  if (entry !== undefined && isUsable(entry, certified)) return referenceOf(entry)
  return db.write(async (tx) =>
    referenceOf(await entryInTransaction(tx, view.agent.tail, certified, at)),
  )
}

function isUsable(entry: StatusEntryRow, certified: CertifiedState): boolean {
  return entry.value === 0 && isSameState(certifiedBy(entry), certified)
}

export function referenceOf({ list, idx, allocated_at }: StatusEntryRow): StatusReference {
  return { list, idx, allocatedAt: allocated_at }
}

async function entryInTransaction(
  tx: Tx,
  tail: string,
  certified: CertifiedState,
  at: number,
): Promise<StatusEntryRow> {
  const { current } = await assertTrue(tx, tail, certified, at)
  const entry = await currentEntry(tx.db, tail)
  if (entry === undefined) return allocateEntry(tx, tail, certified, at)
  if (isUsable(entry, certified)) return entry
  // Another provider: those who still have an older certificate are to know when its provider's verification is lost.
  const isOther =
    entry.identity_method !== null && entry.identity_method !== certified.identityMethod
  if (entry.value !== 0 || isOther || !stillHolds(certifiedBy(entry), current, at)) {
    return replaceEntry(tx, entry, certified, at)
  }
  await setCertifiedState(tx, entry, certified)
  return entry
}

/**
 * The node may be behind: what a certificate will state is compared with the database before it gets an entry.
 * @throws CodedError AGENT_NOT_ACTIVE; UNAVAILABLE if the agent has changed
 */
export async function assertTrue(
  tx: Tx,
  tail: string,
  certified: CertifiedState,
  at: number,
): Promise<{ readonly agent: AgentRow; readonly current: CurrentState }> {
  const agent = await agentByTail(tx.db, tail)
  if (agent?.status !== 'active') {
    throw new CodedError('AGENT_NOT_ACTIVE', 'This agent is not active.')
  }
  const evidence = await evidenceNow(tx.db, agent, at)
  const { key_sequence: keySequence, delegation_depth: maxDelegationDepth } = agent
  const current = { keySequence, maxDelegationDepth, ...evidence }
  if (!isSameState(certified, certifiedAt(current, at))) {
    throw new CodedError(
      'UNAVAILABLE',
      'The agent has changed meanwhile. Nothing was done: try again in a second.',
      { retryAfterSeconds: 1 },
    )
  }
  return { agent, current }
}
