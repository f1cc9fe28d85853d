import { gradeOf, STATUS_VALUES } from '@countersign/protocol'
import { evidenceOfVerification, verificationsOfOwner } from '../../accounts/verification-table.ts'
import type { AgentRow, Db, StatusEntryRow, Tx } from '../../database/database.ts'
import { provenChannels } from '../proven-channel-table.ts'
import { evidenceOfChannel } from '../read-model/rows.ts'
import { type CurrentState, certifiedAt, certifiedBy, stillHolds } from './certified-state.ts'
import { endDelegationEntry, eraseDelegations } from './delegation-table.ts'
import {
  allocateEntry,
  currentEntry,
  delegationEntries,
  eraseCertifiedIdentity,
  replaceEntry,
  setCertifiedState,
  setEntry,
} from './status-entry-table.ts'

/** An agent as it is after a change. */
export type RevisedAgent = Pick<AgentRow, 'tail' | 'status' | 'key_sequence' | 'delegation_depth'>

/** What the grade of an agent follows from. */
type Evidence = Pick<CurrentState, 'grade' | 'verifications'>

/** The entries of an agent on which certificates count. */
export interface EntriesInUse {
  /** To which its next certificate refers, if any. */
  readonly current: StatusEntryRow | undefined
  /** Those of its groups of delegations. */
  readonly delegated: readonly StatusEntryRow[]
}

export async function entriesInUse(db: Db, tail: string): Promise<EntriesInUse> {
  return { current: await currentEntry(db, tail), delegated: await delegationEntries(db, tail) }
}

/**
 * Brings the status of an agent's certificates up to date, in the transaction of the change that affects it: suspended, valid
 * again, or invalid. If a certificate states more than is true now, its entry becomes invalid and the agent gets another; a group
 * of delegations gets none. An agent without a certificate has no entry, and nothing is written.
 * @param at milliseconds since 1970
 */
export async function reviseEntries(
  tx: Tx,
  { current, delegated }: EntriesInUse,
  agent: RevisedAgent,
  evidence: Evidence,
  at: number,
): Promise<void> {
  await reviseCurrent(tx, current, agent, evidence, at)
  const { status, key_sequence: keySequence, delegation_depth: maxDelegationDepth } = agent
  const now = { keySequence, maxDelegationDepth, ...evidence }
  for (const entry of delegated) {
    const isOver =
      status === 'revoked' || (status === 'active' && !stillHolds(certifiedBy(entry), now, at))
    const value = status === 'suspended' ? STATUS_VALUES.suspended : STATUS_VALUES.valid
    if (isOver) await endDelegationEntry(tx, entry, 'service', at)
    else if (entry.value !== value) await setEntry(tx, entry, value, at)
  }
}

async function reviseCurrent(
  tx: Tx,
  entry: StatusEntryRow | undefined,
  { status, key_sequence: keySequence, delegation_depth: maxDelegationDepth }: RevisedAgent,
  evidence: Evidence,
  at: number,
): Promise<void> {
  if (entry === undefined) return
  if (status === 'revoked') return setEntry(tx, entry, STATUS_VALUES.invalid, at)
  if (status === 'suspended') {
    if (entry.value === STATUS_VALUES.suspended) return
    return setEntry(tx, entry, STATUS_VALUES.suspended, at)
  }
  const current = { keySequence, maxDelegationDepth, ...evidence }
  if (!stillHolds(certifiedBy(entry), current, at)) {
    await replaceEntry(tx, entry, certifiedAt(current, at), at)
  } else if (entry.value !== STATUS_VALUES.valid) {
    await setEntry(tx, entry, STATUS_VALUES.valid, at)
  }
}

/**
 * Makes the certificates with an agent's former key invalid. An active agent gets another entry at once; one that is not gets it
 * with its next certificate.
 */
export async function reviseAfterNewKey(
  tx: Tx,
  { tail, status, key_sequence: keySequence }: RevisedAgent,
  at: number,
): Promise<void> {
  await endDelegationEntries(tx, tail, at)
  const entry = await currentEntry(tx.db, tail)
  if (entry === undefined) return
  if (status !== 'active') return setEntry(tx, entry, STATUS_VALUES.invalid, at)
  await replaceEntry(tx, entry, { ...certifiedBy(entry), keySequence }, at)
}

/**
 * Ends all chains if the depth is not more than before: the entry becomes invalid. A lower depth gives an active agent another one
 * at once. Whether a certificate with the former depth was handed out does not matter, so that no chain outlives a lower depth.
 */
export async function reviseAfterDelegation(
  tx: Tx,
  { delegation_depth: former }: RevisedAgent,
  { tail, status, delegation_depth: maxDelegationDepth }: RevisedAgent,
  at: number,
): Promise<void> {
  if (maxDelegationDepth <= former) await endDelegationEntries(tx, tail, at)
  const entry = await currentEntry(tx.db, tail)
  if (entry === undefined) return
  const certified = { ...certifiedBy(entry), maxDelegationDepth }
  if (maxDelegationDepth > former) return setCertifiedState(tx, entry, certified)
  if (maxDelegationDepth < former && status === 'active') {
    await replaceEntry(tx, entry, certified, at)
  } else {
    await setEntry(tx, entry, STATUS_VALUES.invalid, at)
  }
}

/**
 * Makes the certificates that an agent got under its former owner invalid, and forgets what they stated of that owner. An active
 * agent gets another entry at once; one that is not gets it with its next certificate.
 */
export async function reviseAfterNewOwner(
  tx: Tx,
  { tail, status, key_sequence: keySequence, delegation_depth: maxDelegationDepth }: RevisedAgent,
  evidence: Evidence,
  at: number,
): Promise<void> {
  const entry = await currentEntry(tx.db, tail)
  await invalidateEntries(tx, tail, at)
  await eraseDelegations(tx, [tail])
  if (entry === undefined) return
  await eraseCertifiedIdentity(tx, [tail])
  if (status !== 'active') return
  await allocateEntry(
    tx,
    tail,
    certifiedAt({ keySequence, maxDelegationDepth, ...evidence }, at),
    at,
  )
}

/** Makes an agent's certificates invalid for good, because its key was burned. */
export async function invalidateEntries(tx: Tx, tail: string, at: number): Promise<void> {
  await endDelegationEntries(tx, tail, at)
  const entry = await currentEntry(tx.db, tail)
  if (entry !== undefined) await setEntry(tx, entry, STATUS_VALUES.invalid, at)
}

/** Ends all groups of delegations of an agent. */
async function endDelegationEntries(tx: Tx, tail: string, at: number): Promise<void> {
  for (const entry of await delegationEntries(tx.db, tail)) {
    await endDelegationEntry(tx, entry, 'service', at)
  }
}

/**
 * Reads the evidence for an agent's grade from the database, and computes the grade.
 * @param now milliseconds since 1970
 */
export async function evidenceNow(
  db: Db,
  { tail, status, owner_id }: Pick<AgentRow, 'tail' | 'status' | 'owner_id'>,
  now: number,
): Promise<Evidence> {
  // Needs no query, which matters when an account with many agents is deleted.
  if (status !== 'active') return { grade: 'E', verifications: [] }
  const verifications = (await verificationsOfOwner(db, owner_id)).map(evidenceOfVerification)
  const channels = (await provenChannels(db, tail)).map(evidenceOfChannel)
  return { grade: gradeOf({ status, verifications, channels, now }).grade, verifications }
}
