import {
  type AgentEntry,
  KEY_COMPROMISED,
  OWNER_UNKNOWN_AFTER_RESTORE,
  RENOUNCED_BY_AGENT,
} from '@countersign/protocol'
import { agentByTail, isKeyLost, OWNER_SUSPENDED } from '../agents/agent-table.ts'
import { regradeFrom } from '../agents/changes/change-agent.ts'
import { holdOf, liftKeySuspension, suspendKey } from '../agents/changes/holds.ts'
import { burnKey, revokeAgent, setStatus } from '../agents/changes/set-status.ts'
import { endRecovery } from '../agents/keys/end-recovery.ts'
import { suspendRenounced } from '../agents/keys/renounce.ts'
import { beginSuspension, endSuspension } from '../agents/manage/suspend-owner.ts'
import { recheckAfterRestore } from '../channels/channel-lifecycle.ts'
import type { AgentRow, Tx } from '../database/database.ts'
import type { LogQueueRow } from '../database/schema/log-rows.ts'
import { isKeyChange, RestoredKeys } from './apply-keys.ts'
import { deleteQueued, entriesOf, queuedOf, updateQueued } from './log-table.ts'

/** What became of agents by entries that the database had lost. DIDs. */
export interface AppliedEntries {
  /** They have another key. */
  readonly rotated: readonly string[]
  /** Their key is lost: the log has only its thumbprint. They are suspended until their owners recover them. */
  readonly lost: readonly string[]
  /**
   * They moved to another owner, whom the log does not name. They are suspended until the operator lifts that, and with the owner
   * that the database has.
   */
  readonly moved: readonly string[]
  readonly suspended: readonly string[]
  readonly reactivated: readonly string[]
  readonly revoked: readonly string[]
  /** The database does not have them: they must be claimed again. */
  readonly unknown: readonly string[]
}

type StatusEntry = Extract<AgentEntry, { readonly type: 'status' }>
type ChannelEntry = Extract<AgentEntry, { readonly kind: string }>

/** All entries about an agent in an epoch, at once. */
const ALL = 1_000_000

/**
 * Applies the entries that were added to the log, which the database has already, to the agents, through the door and without
 * logging them again. What differs from the log afterwards, such as the suspension of an agent whose key is lost, is a change of
 * its own and is logged.
 * @param entries `added` to the log, and those changes of the database that they are (`known`), which waited for their place
 * @param now milliseconds since 1970
 */
export async function applyEntries(
  tx: Tx,
  epoch: number,
  {
    added,
    known,
  }: { readonly added: readonly AgentEntry[]; readonly known: readonly LogQueueRow[] },
  now: number,
): Promise<AppliedEntries> {
  const applied = {
    rotated: [] as string[],
    lost: [] as string[],
    moved: [] as string[],
    suspended: [] as string[],
    reactivated: [] as string[],
    revoked: [] as string[],
    unknown: [] as string[],
  }
  for (const [did, entries] of Map.groupBy(added, (entry) => entry.did)) {
    const before = await agentByTail(tx.db, tailOf(did))
    if (before === undefined) {
      applied.unknown.push(did)
      continue
    }
    const isMoved = hasUnknownMove(before, entries, known)
    const after = await new Restoration(tx, before, entries, now).run(epoch, isMoved)
    if (isMoved && after.status !== 'revoked') applied.moved.push(did)
    if (after.key_sequence !== before.key_sequence)
      (isKeyLost(after) ? applied.lost : applied.rotated).push(did)
    if (before.status === after.status) continue
    const list = { active: 'reactivated', suspended: 'suspended', revoked: 'revoked' } as const
    applied[list[after.status]].push(did)
  }
  return applied
}

/** Whether the agent has moved to another owner since the backup. */
function hasUnknownMove(
  { tail }: AgentRow,
  entries: readonly AgentEntry[],
  known: readonly LogQueueRow[],
): boolean {
  const isMove = ({ type }: { readonly type: string }) => type === 'owner_changed'
  const knownMoves = known.filter((row) => row.tail === tail && isMove(row))
  return entries.filter(isMove).length > knownMoves.length
}

/** The tail of a DID in an entry. */
export function tailOf(did: string): string {
  return did.slice(-24)
}

/** Brings one agent to the state that the entries give. */
class Restoration {
  readonly #tx: Tx
  /** What it changes is in the log. */
  readonly #quiet: Tx
  readonly #tail: string
  readonly #entries: readonly AgentEntry[]
  readonly #now: number
  #agent: AgentRow

  constructor(tx: Tx, agent: AgentRow, entries: readonly AgentEntry[], now: number) {
    this.#tx = tx
    this.#quiet = { ...tx, isLogged: false }
    this.#tail = agent.tail
    this.#entries = entries
    this.#now = now
    this.#agent = agent
  }

  /** @returns the agent as it is now */
  async run(epoch: number, isMoved: boolean): Promise<AgentRow> {
    const waiting = await this.#dropOutdated()
    const hasOwnKey = waiting.some(({ type }) => isKeyChange(type))
    const keys = new RestoredKeys(this.#quiet, this.#now, hasOwnKey)
    for (const entry of this.#entries) {
      if (isKeyChange(entry.type)) await keys.apply(await this.#read(), entry)
      else if (entry.type === 'key_recovery_vetoed') await this.#endRecovery()
      else if (entry.type === 'status') await this.#burn(entry)
    }
    await this.#applyStatus(waiting)
    await this.#applyChannels()
    await this.#hold()
    if (isMoved) await this.#suspendMoved()
    await this.#followKey(waiting)
    await this.#regrade(epoch)
    return this.#read()
  }

  async #read(): Promise<AgentRow> {
    this.#agent = (await agentByTail(this.#tx.db, this.#tail)) as AgentRow
    return this.#agent
  }

  /** Grades that wait are computed again. @returns the other changes of the agent that wait: from since the restore */
  async #dropOutdated(): Promise<LogQueueRow[]> {
    const rows = await queuedOf(this.#tx.db, [this.#tail])
    const grades = rows.filter(({ type }) => type === 'grade')
    await deleteQueued(
      this.#tx,
      grades.map(({ seq }) => seq),
    )
    return rows.filter((row) => !grades.includes(row))
  }

  async #endRecovery(): Promise<void> {
    const veto = { type: 'agent.key_recovery_vetoed', evidence: null } as const
    await endRecovery(this.#quiet, this.#tail, veto, this.#now)
  }

  /** A burned key stays burned, whatever the status becomes. */
  async #burn({ status, reason, by, key, at }: StatusEntry): Promise<void> {
    if (status !== 'suspended' || reason !== KEY_COMPROMISED || by !== 'service') return
    const agent = await this.#read()
    const thumbprint = Buffer.from(agent.key_thumbprint).toString('base64url')
    if (thumbprint === key) await burnKey(this.#quiet, agent.public_key, this.#timeOf(at))
  }

  /** Times of changes are those in the log, but never before the claim, nor in the future. */
  #timeOf(at: number): number {
    return Math.min(this.#now, Math.max(at, this.#agent.claimed_at))
  }

  /** The last status counts, but a revocation is final, and a change since the restore is newer than the log. */
  async #applyStatus(waiting: readonly LogQueueRow[]): Promise<void> {
    const statuses = this.#entries.filter((entry): entry is StatusEntry => entry.type === 'status')
    const last = statuses.find(({ status }) => status === 'revoked') ?? statuses.at(-1)
    const agent = await this.#read()
    if (last === undefined || agent.status === 'revoked') return
    const at = this.#timeOf(last.at)
    const set = { reason: last.reason, setBy: last.by }
    if (last.status === 'revoked') {
      await revokeAgent(this.#quiet, agent, set, at)
      await this.#deleteWaiting(waiting)
      return
    }
    if (waiting.some(({ type }) => type === 'status')) return
    const isOfKey = last.by === 'operator' && last.reason !== OWNER_UNKNOWN_AFTER_RESTORE
    if (isOfKey) await this.#applyHold(agent, last, at)
    const now = await this.#read()
    if (last.status === 'active') return this.#reactivate(now, last, at)
    const isSame = now.status_reason === last.reason && now.status_set_by === last.by
    if (now.status === 'suspended' && isSame) return
    if (last.by === 'agent' && last.reason === RENOUNCED_BY_AGENT)
      return suspendRenounced(this.#quiet, this.#tail, null, at)
    await setStatus(this.#quiet, this.#tail, { to: 'suspended', ...set }, at)
  }

  /** Nothing follows a revocation: what waits of the agent would. */
  async #deleteWaiting(waiting: readonly LogQueueRow[]): Promise<void> {
    await deleteQueued(
      this.#tx,
      waiting.map(({ seq }) => seq),
    )
  }

  /** The operator suspends keys and owners, not only agents: claims of the key, and of the owner, are refused too. */
  async #applyHold(agent: AgentRow, { status, reason }: StatusEntry, at: number): Promise<void> {
    const { owner_id: ownerId, public_key: key, status_reason: before } = agent
    if (status === 'suspended') {
      if (reason === OWNER_SUSPENDED) await beginSuspension(this.#quiet, ownerId, null, at)
      else await suspendKey(this.#quiet, key, reason, at)
      return
    }
    if (agent.status === 'suspended' && before === OWNER_SUSPENDED)
      await endSuspension(this.#quiet, ownerId, at)
    await liftKeySuspension(this.#quiet, key, reason, at)
  }

  async #reactivate(agent: AgentRow, { reason, by: setBy }: StatusEntry, at: number) {
    if (agent.status === 'active') return
    const hold = await holdOf(this.#tx.db, agent)
    if (hold === null) {
      await setStatus(this.#quiet, this.#tail, { to: 'active', reason, setBy }, at)
      return
    }
    // The log says that the agent is active, and it is not.
    const held = { to: 'suspended', reason: hold.reason, setBy: hold.setBy } as const
    await setStatus(this.#tx, this.#tail, held, this.#now)
  }

  async #applyChannels(): Promise<void> {
    if ((await this.#read()).status === 'revoked') return
    const entries = this.#entries.filter((entry): entry is ChannelEntry => 'kind' in entry)
    const lastOf = new Map(entries.map((entry) => [`${entry.kind} ${entry.tier}`, entry.type]))
    const lost = entries.filter(({ type }) => type === 'channel_lost')
    const isLost = (channel: { kind: string; tier: number }) =>
      lost.some(({ kind, tier }) => kind === channel.kind && tier === channel.tier)
    // Proven again since: that a channel is stale now is news for the log.
    const isNews = lost.some(({ kind, tier }) => lastOf.get(`${kind} ${tier}`) !== 'channel_lost')
    const tx = isNews ? this.#tx : this.#quiet
    await recheckAfterRestore(tx, this.#tail, isLost, this.#now)
  }

  /** An agent that something keeps from being active, such as a lost key, is suspended, which the log and the owner learn. */
  async #hold(): Promise<void> {
    const agent = await this.#read()
    const hold = agent.status === 'active' ? await holdOf(this.#tx.db, agent) : null
    if (hold === null) return
    const { reason, setBy } = hold
    await setStatus(this.#tx, this.#tail, { to: 'suspended', reason, setBy }, this.#now)
  }

  /** The owner in the database has given the agent away, and must not decide about it any more. */
  async #suspendMoved(): Promise<void> {
    if ((await this.#read()).status === 'revoked') return
    const reason = OWNER_UNKNOWN_AFTER_RESTORE
    await setStatus(this.#tx, this.#tail, { to: 'suspended', reason, setBy: 'operator' }, this.#now)
  }

  /** Changes since the restore name the key that the agent had then. The log has other keys under these numbers. */
  async #followKey(waiting: readonly LogQueueRow[]): Promise<void> {
    if (!this.#entries.some(({ type }) => isKeyChange(type))) return
    const { key_thumbprint, key_sequence: keySequence } = await this.#read()
    const key = Buffer.from(key_thumbprint).toString('base64url')
    const own = waiting.filter(({ type }) => isKeyChange(type))
    await this.#deleteWaiting(own)
    for (const { seq, type, entry } of waiting) {
      const members = JSON.parse(entry) as AgentEntry
      if (isKeyChange(type) || members.keySequence < keySequence) continue
      await updateQueued(this.#tx, seq, JSON.stringify({ ...members, key, keySequence }))
    }
  }

  /** The log gets the grade, unless it is the last one there. */
  async #regrade(epoch: number): Promise<void> {
    const agent = await this.#read()
    if (agent.status !== 'active') return
    const of = { epoch, tail: this.#tail, from: 0, to: Number.MAX_SAFE_INTEGER }
    const rows = await entriesOf(this.#tx.db, of, ALL)
    const entries = rows.map(({ entry }) => JSON.parse(entry) as AgentEntry)
    const graded = entries.findLast((entry) => 'grade' in entry)
    if (graded !== undefined && 'grade' in graded)
      await regradeFrom(this.#tx, agent, graded.grade, this.#now)
  }
}
