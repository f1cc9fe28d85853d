import { erasePayloads } from '../agent-management/agent-event-table.ts'
import { agentsWithFace, liveAgents } from '../agent-management/own-agent-table.ts'
import { AGENTS_AT_ONCE, requireConfirmed, revokeAgents } from '../agent-management/revoke-all.ts'
import { changeFace } from '../agent-management/update-profile.ts'
import { cancelRegrade } from '../agents/regrade-owner.ts'
import { eraseChannels } from '../channels/channel-lifecycle.ts'
import type { AgentRow, Tx } from '../core/database/database.ts'
import { appendEvent } from '../core/database/event-table.ts'
import type { CoreDeps } from '../core/deps.ts'
import { EXPIRE_VERIFICATION } from '../identity/record-verification.ts'
import { blankAgents, blankOwner, deleteBelongings, deleteJobs } from './owner-data-table.ts'

const REASON = 'owner_deleted'
/** In the place of the owner's own label. */
const BLANK = 'deleted'
/** More than one transaction changes. */
const MANY = AGENTS_AT_ONCE + 1
const ALL = Number.MAX_SAFE_INTEGER
const NO_FACE = { username: null, username_skeleton: null, display_name: null, description: null }

/**
 * Deletes an account, all of it or nothing: revokes its agents, whose DIDs stay and say so, and erases whatever says
 * who stood behind them. Of more than 200 agents most are revoked and blanked before, in parts, so that whoever else
 * writes does not wait for them all; where that is interrupted, whoever asks again goes on from there. The hashes of their
 * subjects at identity providers go too, so that the same human may come again and verify anew: to keep the hash would be
 * to remember them.
 * @param confirmation the owner's username, typed once more
 * @returns how many agents were revoked now
 * @throws CodedError VALIDATION_ERROR where the username is not the owner's
 */
export async function deleteAccount(
  { db, now }: Pick<CoreDeps, 'db' | 'now'>,
  ownerId: number,
  confirmation: string,
): Promise<number> {
  const confirmed = (work: (tx: Tx, at: number) => Promise<number>) =>
    db.write(async (tx) => {
      await requireConfirmed(tx, ownerId, confirmation)
      return work(tx, now())
    })
  const before = await inParts(() => confirmed((tx, at) => revokeSomeOfMany(tx, ownerId, at)))
  await inParts(() => confirmed((tx, at) => blankSomeOfMany(tx, ownerId, at)))
  const last = await confirmed(async (tx, at) => {
    const revoked = await revokeAgents(tx, ownerId, REASON, at, ALL)
    await eraseChannels(tx, ownerId, REASON, at)
    await erasePayloads(tx, ownerId)
    await blankFaces(tx, await agentsWithFace(tx.db, ownerId, ALL), at)
    await blankAgents(tx, ownerId, BLANK)
    await deleteJobs(tx, `${EXPIRE_VERIFICATION}:${ownerId}:`)
    await cancelRegrade(tx, ownerId)
    await deleteBelongings(tx, ownerId)
    // No username has a colon, so that nobody has this one.
    await blankOwner(tx, ownerId, `deleted:${ownerId}`, at)
    const seq = tx.nextSeq()
    await appendEvent(tx, { seq, at, type: 'owner.deleted', tail: null, ownerId, payload: {} })
    return revoked
  })
  return before + last
}

/** @param part does one and resolves to how many agents it changed: none where the rest is little enough */
async function inParts(part: () => Promise<number>): Promise<number> {
  for (let all = 0; ; ) {
    const count = await part()
    if (count === 0) return all
    all += count
  }
}

async function revokeSomeOfMany(tx: Tx, ownerId: number, at: number): Promise<number> {
  const { length } = await liveAgents(tx.db, ownerId, MANY)
  return length < MANY ? 0 : revokeAgents(tx, ownerId, REASON, at, AGENTS_AT_ONCE)
}

async function blankSomeOfMany(tx: Tx, ownerId: number, at: number): Promise<number> {
  const agents = await agentsWithFace(tx.db, ownerId, MANY)
  if (agents.length < MANY) return 0
  await blankFaces(tx, agents, at)
  return agents.length
}

/** What agents said of themselves may say who their owner was. Each that said something has an event that tells. */
async function blankFaces(tx: Tx, agents: readonly AgentRow[], at: number): Promise<void> {
  for (const agent of agents) await changeFace(tx, agent, { ...NO_FACE, avatar: null }, at)
}
