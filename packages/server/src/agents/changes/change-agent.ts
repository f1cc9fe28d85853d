import { randomInt } from 'node:crypto'
import { appendNotification } from '../../accounts/notifications/notify-owner.ts'
import type { AgentRow, Tx } from '../../database/database.ts'
import { appendAgentEvent } from '../../database/event-table.ts'
import type { LogQueueRow } from '../../database/schema/log-rows.ts'
import { thumbprintBytes } from '../../secrets/ed25519.ts'
import {
  agentByTail,
  type StatusChange,
  setDelegationDepth,
  setDirectoryProof,
  setGrade,
  setOwnerOfAgent,
  setRenounced,
  touchAgent,
  updateStatus,
} from '../agent-table.ts'
import { loseCurrentKey, replaceCurrentKey } from '../keys/key-table.ts'
import { updateProfileColumns } from '../manage/own-agent-table.ts'
import type { AppliedChange, Change, ChangeType, LogDelay, LostKey } from './change.ts'
import { delayOf, eventOf, loggedChangeOf, notificationOf, queueRowOf, RULES } from './changes.ts'
import { insertQueued, takeQueuedGrade } from './log-queue-table.ts'
import {
  entriesInUse,
  evidenceNow,
  invalidateEntries,
  reviseAfterDelegation,
  reviseAfterNewKey,
  reviseAfterNewOwner,
  reviseEntries,
} from './revise-status-entry.ts'

/** Entries that follow from a change of the owner are spread over this time, so that they do not link the owner's agents. */
export const SPREAD_MS = { spread: 15 * 60 * 1000, day: 24 * 3_600_000 } as const

/** A change of an agent that was written in this transaction. */
export type Changed = AppliedChange<Change, AgentRow>

/** What follows from changes of agents in other rooms, in the transaction of the change. */
export interface AgentEffect {
  readonly on: readonly ChangeType[]
  /** The changes of agents that it makes itself. A test walks them, so that no effect causes itself. */
  readonly makes: readonly ChangeType[]
  run(tx: Tx, changed: Changed): Promise<void>
}

declare module '../../database/database.ts' {
  interface Effects {
    readonly agentChanged: readonly AgentEffect[]
  }
}

/** The username, or one that looks alike, belongs to another agent. */
export class UsernameTaken extends Error {
  override readonly name = 'UsernameTaken'
}

/** Claims are written in batches (`agents/claims/claim-table.ts`). */
type WrittenChange = Exclude<Change, { readonly type: 'agent.claimed' }>

/**
 * Changes an agent within the caller's transaction: the only way, apart from a batch of claims. Writes its columns, the event, the
 * entry of the transparency log, the notification, the grade and the status of its certificates as `RULES` say, and then what
 * follows in other rooms. The rules of the caller have allowed the change, and have written what belongs to it in other tables.
 * @param at milliseconds since 1970
 * @returns the agent with the columns of this change
 * @throws UsernameTaken; then roll back
 */
export async function changeAgent(
  tx: Tx,
  tail: string,
  change: WrittenChange,
  at: number,
): Promise<AgentRow> {
  const when = { version: tx.nextSeq(), at }
  const read = hasColumns(change)
    ? agentByTail(tx.db, tail)
    : touchAgent(tx, tail, isPrivate(change) ? { version: when.version } : when)
  const before = await read
  if (before === undefined) throw new Error(`there is no agent ${tail}, which is to be changed`)
  return write(tx, before, change, when)
}

/** Whether a change has columns of its own. The others only record when the agent changed, so that one statement reads it too. */
function hasColumns(change: WrittenChange): boolean {
  if (change.type === 'agent.key_contested') return change.newKey !== null
  return !change.type.startsWith('channel.') && !WITHOUT_COLUMNS.has(change.type)
}

/** Whether only the owner learns of a change: the time of the last one is public. */
function isPrivate({ type }: WrittenChange): boolean {
  return type === 'agent.approval_requested' || type === 'agent.approval_decided'
}

const WITHOUT_COLUMNS: ReadonlySet<ChangeType> = new Set([
  'agent.released',
  'agent.delegation_created',
  'agent.delegation_ended',
  'agent.key_compromised',
  'agent.key_recovery_started',
  'agent.key_recovery_redeemed',
  'agent.key_recovery_vetoed',
  'agent.key_recovery_cancelled',
  'agent.approval_requested',
  'agent.approval_decided',
])

/** @param before as it is in the database now */
async function write(
  tx: Tx,
  before: AgentRow,
  change: WrittenChange,
  { version: seq, at }: When,
): Promise<AgentRow> {
  const after = await writeColumns(tx, before, change, { version: seq, at })
  const changed: Changed = { change, before, after, seq, at }
  await appendAgentEvent(tx, eventOf(changed))
  const logged = loggedChangeOf(changed)
  if (logged !== null && tx.isLogged !== false) {
    await queue(tx, queueRowOf(logged), notBefore(delayOf(change), at))
  }
  const notification = tx.isLogged === false ? null : notificationOf(changed)
  if (notification !== null) await appendNotification(tx, notification)
  await reviseStatusEntry(tx, changed)
  for (const effect of tx.effects.agentChanged) {
    if (effect.on.includes(change.type)) await effect.run(tx, changed)
  }
  return after
}

/** @returns the agent with these columns */
async function writeColumns(
  tx: Tx,
  before: AgentRow,
  change: WrittenChange,
  { version, at }: When,
): Promise<AgentRow> {
  const { tail } = before
  switch (change.type) {
    case 'agent.updated': {
      const { profile } = change
      if (await updateProfileColumns(tx, tail, profile, { at, version })) {
        return { ...before, ...profile, updated_at: at, version }
      }
      throw new UsernameTaken()
    }
    case 'agent.directory_proven': {
      const proof = JSON.stringify(change.proof)
      await setDirectoryProof(tx, { tail, proof, version })
      return { ...before, directory_proof: proof, version }
    }
    case 'agent.suspended':
      return writeStatusColumns(tx, before, 'suspended', change, { version, at })
    case 'agent.reactivated':
      return writeStatusColumns(tx, before, 'active', change, { version, at })
    case 'agent.revoked':
      return writeStatusColumns(tx, before, 'revoked', change, { version, at })
    case 'agent.renounced':
      await setRenounced(tx, { tail, finalAt: change.finalAt, at, version })
      return { ...before, renounce_final_at: change.finalAt, updated_at: at, version }
    case 'agent.grade_changed':
      await setGrade(tx, { tail, grade: change.to, version })
      return { ...before, grade: change.to, version }
    case 'agent.delegation_changed': {
      const { maxDepth: delegation_depth } = change
      await setDelegationDepth(tx, { tail, delegation_depth, updated_at: at, version })
      return { ...before, delegation_depth, updated_at: at, version }
    }
    case 'agent.owner_changed': {
      const { toOwner: owner_id, responsible } = change.move
      const moved = { owner_id, responsible, owner_changed_at: at }
      const allowed = { delegation_depth: 0, approvals: 0 } as const
      const columns = { ...moved, ...allowed, updated_at: at, version }
      await setOwnerOfAgent(tx, tail, columns)
      return { ...before, ...columns }
    }
    case 'agent.key_rotated':
      return replaceKey(tx, before, change.newKey, 'rotation', { version, at })
    case 'agent.key_recovered':
      if (change.lost !== undefined)
        return loseKey(tx, before, change.newKey, change.lost, { version, at })
      return replaceKey(tx, before, change.newKey, 'recovery', { version, at })
    case 'agent.key_contested':
      if (change.newKey === null) return before
      return replaceKey(tx, before, change.newKey, 'contest', { version, at })
    default:
      return before
  }
}

interface When extends Pick<AgentRow, 'version'> {
  readonly at: number
}

async function writeStatusColumns(
  tx: Tx,
  before: AgentRow,
  to: AgentRow['status'],
  { reason, setBy, isBulk = false }: Pick<StatusChange, 'reason' | 'setBy'> & { isBulk?: boolean },
  { version, at }: When,
): Promise<AgentRow> {
  const { tail, status: from, seq } = before
  const time = isBulk ? 'day' : 'exact'
  await updateStatus(tx, { tail, from, to, reason, setBy, at, time, version })
  return {
    ...before,
    status: to,
    status_reason: reason,
    status_set_by: setBy,
    status_changed_at: at,
    status_time: time,
    updated_at: at,
    version,
    pair_slot: to === 'revoked' ? seq : 0,
  }
}

async function replaceKey(
  tx: Tx,
  before: AgentRow,
  publicKey: Uint8Array,
  changedBy: NonNullable<AgentRow['key_changed_by']>,
  { version, at }: When,
): Promise<AgentRow> {
  if (!(await replaceCurrentKey(tx, before, { publicKey, changedBy, at, version }))) {
    throw new Error(`the key of ${before.tail} changed in the same transaction`)
  }
  return {
    ...before,
    public_key: publicKey,
    key_thumbprint: thumbprintBytes(publicKey),
    key_sequence: before.key_sequence + 1,
    key_changed_at: at,
    key_changed_by: changedBy,
    updated_at: at,
    version,
  }
}

/** The log has a newer key than the database, which knows its thumbprint only. */
async function loseKey(
  tx: Tx,
  before: AgentRow,
  thumbprint: Uint8Array,
  { sequence, changedBy }: LostKey,
  { version, at }: When,
): Promise<AgentRow> {
  const after: AgentRow = {
    ...before,
    public_key: thumbprint,
    key_thumbprint: thumbprint,
    key_sequence: sequence,
    key_changed_at: at,
    key_changed_by: changedBy,
    updated_at: at,
    version,
  }
  await loseCurrentKey(tx, before, after)
  return after
}

/** The earliest time of an entry, in milliseconds since 1970; 0: at once. */
function notBefore(delay: LogDelay, at: number): number {
  return delay === 'none' ? 0 : at + 1 + randomInt(SPREAD_MS[delay])
}

/**
 * Queues the entry of a change for the log, so that neither exists without the other. Its place in the log is assigned later
 * (`log/sequence.ts`), so that changes do not wait for each other.
 */
async function queue(tx: Tx, row: LogQueueRow, earliest: number): Promise<void> {
  if (row.type !== 'grade') return insertQueued(tx, { ...row, not_before: earliest })
  // A grade that has not been logged yet is replaced: the log says what the grade is, not how often it changed.
  const due = await takeQueuedGrade(tx, row.tail)
  await insertQueued(tx, {
    ...row,
    not_before: due === null ? earliest : Math.min(due, earliest),
  })
}

/**
 * Grades an active agent again whose grade in the log is not the one that the database has (`log recover`).
 * @param logged the grade in the log
 * @param at milliseconds since 1970
 */
export async function regradeFrom(
  tx: Tx,
  agent: AgentRow,
  logged: AgentRow['grade'],
  at: number,
): Promise<void> {
  await setGrade(tx, { tail: agent.tail, grade: logged, version: agent.version })
  await regrade(tx, { ...agent, grade: logged }, at, 'none')
}

async function reviseStatusEntry(tx: Tx, changed: Changed): Promise<void> {
  const { change, before, after, at } = changed
  const { statusEntry } = RULES[change.type]
  if (statusEntry === 'regrade') return regrade(tx, after, at, delayOf(change))
  if (statusEntry === 'owner') return regradeForOwner(tx, after, at)
  if (statusEntry === 'replace' && before.key_sequence !== after.key_sequence) {
    return reviseAfterNewKey(tx, after, at)
  }
  if (statusEntry === 'delegation') return reviseAfterDelegation(tx, before, after, at)
  if (statusEntry === 'invalidate' && isOfCurrentKey(changed))
    await invalidateEntries(tx, after.tail, at)
}

/** Whether a key that was burned is the current one of its agent. */
export function isOfCurrentKey({ change, after }: Changed): boolean {
  return change.type === 'agent.key_compromised' && change.sequence === after.key_sequence
}

/** Records the grade if it changed, and updates the status of the agent's certificates. */
async function regrade(tx: Tx, agent: AgentRow, at: number, delay: LogDelay): Promise<void> {
  const evidence = await recordGrade(tx, agent, at, delay)
  await reviseEntries(tx, await entriesInUse(tx.db, agent.tail), agent, evidence, at)
}

/** The same for an agent with another owner: nothing that was certified before holds. */
async function regradeForOwner(tx: Tx, agent: AgentRow, at: number): Promise<void> {
  const evidence = await recordGrade(tx, agent, at, 'spread')
  await reviseAfterNewOwner(tx, agent, evidence, at)
}

async function recordGrade(tx: Tx, agent: AgentRow, at: number, delay: LogDelay) {
  const evidence = await evidenceNow(tx.db, agent, at)
  const { grade: to } = evidence
  if (to !== agent.grade) {
    const when = { version: tx.nextSeq(), at }
    await write(tx, agent, { type: 'agent.grade_changed', to, delay }, when)
  }
  return evidence
}
