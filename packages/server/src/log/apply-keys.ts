import {
  type AgentEntry,
  decodeKey,
  KEY_COMPROMISED,
  KEY_UNKNOWN_AFTER_RESTORE,
  type KeyChange,
  parseThumbprint,
} from '@countersign/protocol'
import { changeAgent } from '../agents/changes/change-agent.ts'
import { burnKey } from '../agents/changes/set-status.ts'
import { recoveryJobOf } from '../agents/keys/end-recovery.ts'
import { type AgentKey, deleteRecovery, keysOfAgent, recoveryOf } from '../agents/keys/key-table.ts'
import { keyUseOf } from '../agents/keys/key-use.ts'
import type { AgentRow, Tx } from '../database/database.ts'
import { cancelJob } from '../database/jobs/job-table.ts'
import { thumbprintBytes } from '../secrets/ed25519.ts'

const CHANGED_BY: Readonly<Record<string, KeyChange>> = {
  key_rotated: 'rotation',
  key_recovered: 'recovery',
  key_contested: 'contest',
}

/** Whether an entry of this type changes the key of an agent, or reports that it was changed by somebody else. */
export function isKeyChange(type: string): boolean {
  return type in CHANGED_BY
}

/** Brings the keys of an agent to the state that the entries of the log give, one after the other. */
export class RestoredKeys {
  readonly #tx: Tx
  readonly #now: number
  #isUnknown: boolean

  /**
   * @param tx in which nothing is logged
   * @param hasOwnKey whether the key was changed since the restore, which the log does not have: its keys are other ones then
   */
  constructor(tx: Tx, now: number, hasOwnKey: boolean) {
    this.#tx = tx
    this.#now = now
    this.#isUnknown = hasOwnKey
  }

  /** @param agent as it is now @param entry of a type that changes the key; the signatures of a rotation were verified */
  async apply(agent: AgentRow, entry: AgentEntry): Promise<void> {
    const at = Math.min(this.#now, Math.max(entry.at, agent.key_changed_at ?? agent.claimed_at))
    const isKept = entry.type === 'key_contested' && isCurrent(agent, entry)
    if (isKept) return this.#contestAsCompromised(agent, at)
    const known = this.#isUnknown ? null : await this.#findKey(agent, entry)
    await this.#endRecovery(agent)
    if (known === null) return this.#lose(agent, entry, at)
    const { tail } = agent
    if (entry.type === 'key_rotated') {
      const rotated = { type: 'agent.key_rotated', newKey: known, rotation: entry } as const
      await changeAgent(this.#tx, tail, rotated, at)
    } else if (entry.type === 'key_recovered') {
      const recovered = { type: 'agent.key_recovered', newKey: known, reason: 'log' } as const
      await changeAgent(this.#tx, tail, recovered, at)
    } else await this.#contestAsMistake(agent, known, at)
  }

  /**
   * The key that an entry makes current.
   * @returns null if the database does not have it, or cannot use it
   */
  async #findKey(agent: AgentRow, entry: AgentEntry): Promise<Uint8Array | null> {
    if (entry.keySequence !== agent.key_sequence + 1) return null
    const wanted = parseThumbprint(entry.key)
    const is = (key: Uint8Array | null) =>
      key !== null && wanted !== null && Buffer.compare(thumbprintBytes(key), wanted) === 0
    const key = (await this.#candidates(agent, entry)).find(is) ?? null
    return key !== null && (await this.#isFree(agent, key)) ? key : null
  }

  async #candidates(agent: AgentRow, entry: AgentEntry): Promise<(Uint8Array | null)[]> {
    if (entry.type === 'key_rotated') {
      const oldKey = decodeKey(entry.prevKey)
      const isNext = oldKey !== null && Buffer.compare(oldKey, agent.public_key) === 0
      return isNext ? [decodeKey(entry.newKey)] : []
    }
    const keys = await keysOfAgent(this.#tx.db, agent)
    const former = keys.filter(({ state }) => state !== 'lost').map((each) => each.public_key)
    return [...former, (await recoveryOf(this.#tx.db, agent.tail))?.new_key ?? null]
  }

  /** Since the restore, somebody may have claimed the key under the same label. */
  async #isFree(agent: AgentRow, publicKey: Uint8Array): Promise<boolean> {
    const { agent_id: agentId, owner_id: ownerId, tail } = agent
    if (Buffer.compare(publicKey, agent.public_key) === 0) return true
    const use = await keyUseOf(this.#tx.db, { publicKey, agentId, ownerId }, tail, this.#now)
    return !use.isPairTaken
  }

  /** The log says that a recovery has completed, or that the key was rotated. */
  async #endRecovery({ tail }: AgentRow): Promise<void> {
    if (await deleteRecovery(this.#tx, tail)) await cancelJob(this.#tx, recoveryJobOf(tail))
  }

  async #lose(agent: AgentRow, entry: AgentEntry, at: number): Promise<void> {
    const newKey = parseThumbprint(entry.key)
    const changedBy = CHANGED_BY[entry.type]
    if (newKey === null || changedBy === undefined) return
    // What the log has after this may follow from a key that the database does not have either.
    this.#isUnknown = true
    const lost = { sequence: entry.keySequence, changedBy }
    const reason = KEY_UNKNOWN_AFTER_RESTORE
    const change = { type: 'agent.key_recovered', newKey, reason, lost } as const
    await changeAgent(this.#tx, agent.tail, change, at)
  }

  /**
   * The owner has reported the current key, and at least the one before it: it may have signed the rotation. Which keys before
   * those were reported too is not in the log.
   */
  async #contestAsCompromised(agent: AgentRow, at: number): Promise<void> {
    const lastGoodSequence = Math.max(1, agent.key_sequence - 1)
    const contested = { type: 'agent.key_contested', reason: KEY_COMPROMISED } as const
    const change = { ...contested, lastGoodSequence, newKey: null }
    await changeAgent(this.#tx, agent.tail, change, at)
    await burnKey(this.#tx, agent.public_key, at)
    const keys = await keysOfAgent(this.#tx.db, agent)
    await this.#burn(
      keys.filter(({ sequence }) => sequence === lastGoodSequence),
      at,
    )
  }

  /** A former key came back, and those after it were burned. */
  async #contestAsMistake(agent: AgentRow, newKey: Uint8Array, at: number): Promise<void> {
    const keys = await keysOfAgent(this.#tx.db, agent)
    const isGood = ({ public_key }: AgentKey) => Buffer.compare(public_key, newKey) === 0
    const lastGoodSequence = keys.find(isGood)?.sequence ?? 1
    const change = { type: 'agent.key_contested', reason: 'mistake', lastGoodSequence } as const
    await changeAgent(this.#tx, agent.tail, { ...change, newKey }, at)
    await this.#burn(
      keys.filter(({ sequence }) => sequence > lastGoodSequence),
      at,
    )
  }

  async #burn(keys: readonly AgentKey[], at: number): Promise<void> {
    for (const { state, public_key: key } of keys) {
      if (state !== 'lost') await burnKey(this.#tx, key, at)
    }
  }
}

function isCurrent(agent: AgentRow, { keySequence, key }: AgentEntry): boolean {
  const thumbprint = Buffer.from(agent.key_thumbprint).toString('base64url')
  return agent.key_sequence === keySequence && thumbprint === key
}
