import assert from 'node:assert/strict'
import {
  type AgentStatus,
  canonicalJson,
  gradeOf,
  type JsonValue,
  keyThumbprint,
  type LogActor,
} from '@countersign/protocol'
import type { TestService } from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import {
  evidenceOfVerification,
  verificationsOfOwner,
} from '../../src/accounts/verification-table.ts'
import { agentByTail } from '../../src/agents/agent-table.ts'
import { certifiedBy, stillHolds } from '../../src/agents/changes/certified-state.ts'
import { currentEntry } from '../../src/agents/changes/status-entry-table.ts'
import { provenChannels } from '../../src/agents/proven-channel-table.ts'
import { evidenceOfChannel } from '../../src/agents/read-model/rows.ts'
import type { AgentRow, Db, EventRow } from '../../src/database/database.ts'
import { commitmentOf } from '../../src/log/tree-hash.ts'

type Payload = Readonly<Record<string, JsonValue>>

/** A change as its event tells it. */
interface Told {
  readonly payload: Payload
  /** The agent's status before it. */
  readonly from: AgentStatus
  /** A key was reported, and nothing else tells the owner. */
  readonly isReported: boolean
}

interface Row {
  /** The type of its entry in the log; null: it has none. */
  readonly log: string | null
  /** Who made it, as the entry says. Absent: the actor that the drive names. */
  readonly by?: LogActor
  readonly notification: ((told: Told) => string | null) | null
}

const keyChanged = () => 'agent_key_changed'
const channelLost = ({ payload: { reason }, from }: Told) =>
  from === 'revoked' || /^(key-|owner-changed$)/.test(String(reason)) ? null : 'channel_lost'

/** What each kind of change leaves, written out by hand. */
export const TABLE = {
  'agent.claimed': { log: 'claimed', by: 'agent', notification: null },
  'agent.updated': { log: null, notification: null },
  'agent.directory_proven': { log: null, notification: null },
  'agent.suspended': {
    log: 'status',
    notification: ({ from, payload: { reason } }) =>
      from === 'suspended' || reason === 'renounced_by_agent' ? null : 'agent_suspended',
  },
  'agent.renounced': { log: null, notification: () => 'agent_renounced' },
  'agent.reactivated': { log: 'status', notification: null },
  'agent.revoked': { log: 'status', notification: () => 'agent_revoked' },
  'agent.released': { log: null, notification: () => 'transfer' },
  'agent.owner_changed': { log: 'owner_changed', by: 'owner', notification: () => 'transfer' },
  'agent.grade_changed': { log: 'grade', by: 'service', notification: null },
  'agent.delegation_changed': {
    log: null,
    // An owner does it in a session here.
    notification: ({ payload: { by } }) => (by === 'agent' ? 'agent_delegation_changed' : null),
  },
  // Only the owner learns of them.
  'agent.approval_requested': { log: null, notification: () => 'approval' },
  'agent.approval_decided': { log: null, notification: null },
  'agent.delegation_created': { log: null, notification: null },
  'agent.delegation_ended': { log: null, notification: null },
  'agent.key_rotated': { log: 'key_rotated', by: 'agent', notification: keyChanged },
  'agent.key_recovered': { log: 'key_recovered', by: 'owner', notification: keyChanged },
  'agent.key_contested': { log: 'key_contested', by: 'owner', notification: keyChanged },
  'agent.key_compromised': {
    log: null,
    notification: ({ isReported }) => (isReported ? 'agent_key_changed' : null),
  },
  'agent.key_recovery_started': {
    log: 'key_recovery_started',
    by: 'owner',
    notification: keyChanged,
  },
  'agent.key_recovery_redeemed': { log: null, notification: keyChanged },
  'agent.key_recovery_vetoed': {
    log: 'key_recovery_vetoed',
    by: 'agent',
    notification: keyChanged,
  },
  'agent.key_recovery_cancelled': { log: null, notification: keyChanged },
  'channel.verified': { log: 'channel_verified', by: 'service', notification: null },
  'channel.stale': { log: 'channel_lost', by: 'service', notification: channelLost },
  'channel.removed': { log: 'channel_lost', notification: channelLost },
} as const satisfies Readonly<Record<string, Row>>

export type ChangeType = keyof typeof TABLE

/** What one request has to leave. */
export interface Expected {
  /** All events of the agent, in their order. */
  readonly types: readonly ChangeType[]
  /** Who changed the status, or removed the channel. */
  readonly by?: LogActor
  /** What both keys or the agent have signed, as the entries and what they commit to have it. */
  readonly signed?: Payload
  /** What becomes of the certificate's status: its value, or another entry. Undefined: nothing. */
  readonly entry?: 'valid' | 'invalid' | 'suspended' | 'another'
  /** `spread`: the entries of the log wait up to 15 minutes; `day`: up to 24 hours. */
  readonly delay?: 'spread' | 'day'
  /** The owner is notified of all their agents at once. */
  readonly isBulk?: boolean
  /** A key is reported without another change of which the owner is notified. */
  readonly isReported?: boolean
}

const DELAYS = { spread: 15 * 60 * 1000, day: 24 * 3_600_000 } as const
const VALUES = { valid: 0, invalid: 1, suspended: 2 } as const

/** Compares what changes of an agent leave behind with the table. */
export class ChangeWatcher {
  readonly #service: TestService
  readonly #tail: string
  readonly #now: () => number
  #seq = 0
  #logged = 0
  readonly #notified = new Set<string>()
  #statusOfLast: AgentStatus = 'active'

  constructor(service: TestService, did: string, now: () => number) {
    this.#service = service
    this.#tail = did.slice(-24)
    this.#now = now
  }

  get #db(): Db {
    return this.#service.operator.db.read
  }

  async agent(): Promise<AgentRow> {
    return (await agentByTail(this.#db, this.#tail)) as AgentRow
  }

  /** Takes what the agent has so far as given. */
  async skip(): Promise<void> {
    const queued = () =>
      this.#db.selectFrom('log_queue').select('seq').where('tail', '=', this.#tail).execute()
    await untilTicked(this.#service, async () => (await queued()).length === 0)
    const logged = await this.#db
      .selectFrom('log_entries')
      .select('position')
      .where('tail', '=', this.#tail)
      .execute()
    this.#logged = logged.length
    this.#seq = (await this.agent()).version
  }

  /** Makes a change, and compares what it leaves. @returns the types of its events */
  async expect(expected: Expected, change: () => Promise<unknown>): Promise<readonly ChangeType[]> {
    const entry = await currentEntry(this.#db, this.#tail)
    await change()
    const events = await this.#events(expected)
    assert.deepEqual(
      events.map(({ type }) => type),
      expected.types,
    )
    const agent = await this.agent()
    assert.equal(agent.version, events.at(-1)?.seq)
    await this.#assertLogged(agent, events, expected)
    await this.#assertNotified(agent, events, expected)
    await this.#assertGrade(agent)
    await this.#assertEntry(agent, entry?.idx, expected.entry)
    this.#seq = events.at(-1)?.seq ?? this.#seq
    this.#statusOfLast = agent.status
    return expected.types
  }

  /** The new events of the agent. What a job does may take a moment. */
  async #events({ types }: Expected): Promise<EventRow[]> {
    let events: EventRow[] = []
    await untilTicked(this.#service, async () => {
      events = await this.#db
        .selectFrom('events')
        .selectAll()
        .where('tail', '=', this.#tail)
        .where('seq', '>', this.#seq)
        .orderBy('seq')
        .execute()
      return events.length >= types.length
    })
    return events
  }

  async #assertLogged(
    agent: AgentRow,
    events: readonly EventRow[],
    expected: Expected,
  ): Promise<void> {
    const wanted = await this.#wantedEntries(agent, events, expected)
    const queued = () =>
      this.#db
        .selectFrom('log_queue')
        .selectAll()
        .where('tail', '=', this.#tail)
        .orderBy('seq')
        .execute()
    if (expected.delay !== undefined) {
      const waiting = await queued()
      assert.deepEqual(
        waiting.map(({ seq, type, entry, evidence }) => ({
          seq,
          type,
          members: JSON.parse(entry),
          evidence,
        })),
        wanted,
      )
      for (const { not_before: due } of waiting) {
        assert.ok(due > this.#now() - 60_000 && due <= this.#now() + DELAYS[expected.delay])
      }
      return
    }
    await untilTicked(this.#service, async () => (await queued()).length === 0)
    const rows = await this.#db
      .selectFrom('log_entries')
      .selectAll()
      .where('tail', '=', this.#tail)
      .orderBy('position')
      .execute()
    const { naming } = this.#service.settings
    const added = rows.slice(this.#logged).map(({ entry, salt, evidence }) => {
      const { v, did, prev, commitment, ...members } = JSON.parse(entry)
      assert.equal(v, 1)
      assert.equal(did, `svc:agent:${this.#tail}`)
      assert.equal(prev === null, members.type === 'claimed')
      assert.equal(commitment, commitmentOf(naming, salt as Uint8Array, evidence as string))
      return { type: members.type, members, evidence }
    })
    assert.deepEqual(
      added,
      wanted.map(({ seq: _seq, ...rest }) => rest),
    )
    this.#logged = rows.length
  }

  async #wantedEntries(agent: AgentRow, events: readonly EventRow[], expected: Expected) {
    const keys = await this.#thumbprints(agent)
    let keySequence = agent.key_sequence - events.filter(replacesKey).length
    let status = this.#statusOfLast
    return events.flatMap((event) => {
      const { seq, at } = event
      const type = event.type as ChangeType
      const payload = JSON.parse(event.payload) as Payload
      if (replacesKey(event)) keySequence += 1
      if (payload.status !== undefined) status = payload.status as AgentStatus
      const { log, by = expected.by }: Row = TABLE[type]
      if (log === null || (type === 'agent.grade_changed' && status !== 'active')) return []
      const { change, evidence } = detailsOf(type, payload, expected.signed ?? {}, agent)
      const key = keys.get(keySequence)
      const members = { ...change, type: log, key, keySequence, by, at }
      return [{ seq, type: log, members, evidence: canonicalJson(evidence) }]
    })
  }

  /** The keys by their numbers. */
  async #thumbprints(agent: AgentRow): Promise<Map<number, string>> {
    const former = await this.#db
      .selectFrom('agent_keys')
      .select(['sequence', 'public_key'])
      .where('tail', '=', this.#tail)
      .execute()
    const all = [...former, { sequence: agent.key_sequence, public_key: agent.public_key }]
    return new Map(all.map(({ sequence, public_key }) => [sequence, keyThumbprint(public_key)]))
  }

  async #assertNotified(
    agent: AgentRow,
    events: readonly EventRow[],
    { isBulk = false, isReported = false }: Expected,
  ): Promise<void> {
    let from = this.#statusOfLast
    const wanted = events.flatMap((event) => {
      const { type, payload: recorded, seq } = event
      const payload = JSON.parse(recorded) as Payload
      const { notification }: Row = TABLE[type as ChangeType]
      const kind = notification?.({ payload, from, isReported }) ?? null
      if (payload.status !== undefined) from = payload.status as AgentStatus
      if (kind === null || (isBulk && payload.status !== undefined)) return []
      const reason = payload.reason ?? null
      const isChannel = kind === 'channel_lost'
      if (kind === 'transfer') return []
      return [{ kind, reason, subject: isChannel ? 'channel' : `${this.#tail}:${seq}` }]
    })
    const rows = await this.#db
      .selectFrom('notifications')
      .selectAll()
      .where('owner_id', '=', agent.owner_id)
      .execute()
    const latest = rows
      .filter(
        ({ id, kind, details }) =>
          !this.#notified.has(id) &&
          // One for all agents of a transfer, in tests of transfers.
          kind !== 'transfer' &&
          JSON.parse(details).tail === this.#tail,
      )
      .map(({ kind, subject, details }) => ({
        kind,
        reason: JSON.parse(details).reason ?? null,
        subject: kind === 'channel_lost' ? 'channel' : subject,
      }))
    assert.deepEqual(latest.toSorted(byText), wanted.toSorted(byText))
    for (const { id } of rows) this.#notified.add(id)
  }

  async #assertGrade({ grade, status, owner_id: ownerId }: AgentRow): Promise<void> {
    const verifications = (await verificationsOfOwner(this.#db, ownerId)).map(
      evidenceOfVerification,
    )
    const channels = (await provenChannels(this.#db, this.#tail)).map(evidenceOfChannel)
    const computed = gradeOf({ status, verifications, channels, now: this.#now() }).grade
    assert.equal(grade, computed)
  }

  async #assertEntry(
    agent: AgentRow,
    before: number | undefined,
    expected: Expected['entry'],
  ): Promise<void> {
    const entry = await currentEntry(this.#db, this.#tail)
    if (before === undefined) return assert.equal(entry, undefined)
    if (expected === 'invalid') return assert.equal(entry, undefined)
    assert.ok(entry !== undefined)
    assert.equal(entry.idx !== before, expected === 'another')
    assert.equal(entry.value, expected === 'suspended' ? VALUES.suspended : VALUES.valid)
    if (agent.status !== 'active') return
    const { grade, key_sequence: keySequence, owner_id: ownerId } = agent
    const { delegation_depth: maxDelegationDepth } = agent
    const verifications = (await verificationsOfOwner(this.#db, ownerId)).map(
      evidenceOfVerification,
    )
    const current = { keySequence, maxDelegationDepth, grade, verifications }
    assert.ok(stillHolds(certifiedBy(entry), current, this.#now()))
  }
}

/** A contest brings a key back, or only burns those after it. */
function replacesKey({ type, payload }: EventRow): boolean {
  if (type === 'agent.key_contested') return 'keySequence' in JSON.parse(payload)
  return type === 'agent.key_rotated' || type === 'agent.key_recovered'
}

function byText(a: object, b: object): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1
}

/** The members of an entry besides its subject, and what its commitment opens to. */
function detailsOf(
  type: ChangeType,
  payload: Payload,
  signed: Payload,
  { grade }: AgentRow,
): { readonly change: Payload; readonly evidence: JsonValue } {
  const { kind, handleOrDomain, reason = null } = payload as Record<string, JsonValue>
  switch (type) {
    case 'agent.claimed':
      return { change: { grade }, evidence: signed }
    case 'agent.suspended':
    case 'agent.reactivated':
    case 'agent.revoked':
      return { change: payload, evidence: { reason, evidence: signed.evidence ?? null } }
    case 'agent.owner_changed':
      return { change: { grade }, evidence: { transfer: signed.transfer as string } }
    case 'agent.grade_changed':
      return { change: { grade: payload.to as string }, evidence: payload }
    case 'agent.key_rotated':
      return { change: signed, evidence: payload }
    case 'agent.key_recovered':
      return { change: {}, evidence: payload }
    case 'agent.key_contested':
      return {
        change: {},
        evidence: 'keySequence' in payload ? payload : { ...payload, evidence: null },
      }
    case 'channel.verified':
    case 'channel.stale':
    case 'channel.removed':
      return {
        change: { kind: kind as string, tier: 1 },
        evidence: { kind: kind as string, handleOrDomain: handleOrDomain as string, reason },
      }
    default:
      return { change: {}, evidence: { ...payload, evidence: signed.evidence ?? null } }
  }
}
