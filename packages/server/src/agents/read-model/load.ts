import { setImmediate as nextTurn } from 'node:timers/promises'
import { AGENT_STATUSES, type AgentStatus, TAIL_LENGTH, type Tail } from '@countersign/protocol'
import type { Db } from '../../core/database/database.ts'
import { type AgentRecord, initialProfile, type OwnerRecord } from '../agent-record.ts'
import { type AgentPage, agentPageAfter, countAgents, modifiedAgents } from '../agent-table.ts'
import { publicOwnersAfter } from '../owner-table.ts'
import { type ProvenChannelRow, provenChannelsBetween } from '../proven-channel-table.ts'
import { verificationsBetween } from '../verification-table.ts'
import type { AgentIndex } from './agent-index.ts'
import { factsOfChannel, ownerRecordOf, recordOf } from './rows.ts'
import { KEY_WORDS } from './words.ts'

/** Few enough that a request which comes meanwhile waits a few milliseconds, and that what was read is soon forgotten. */
const PAGE = 2000
/** ConcurrencyLimiter for those that come. */
const SPARE = 1.1

const KEY_BYTES = KEY_WORDS * 4
const ZERO = 48

/**
 * Loads everything, a page a turn of the event loop, so that requests are answered meanwhile.
 * @returns whether everything fitted
 */
export async function loadAll(
  db: Db,
  agents: AgentIndex,
  limit: number,
  keep: (owner: OwnerRecord) => void,
): Promise<boolean> {
  const count = await countAgents(db)
  if (count > limit) return false
  agents.reserve(Math.ceil(count * SPARE))
  await loadOwners(db, keep)
  await loadAgents(db, agents)
  return !agents.overflowed
}

async function loadOwners(db: Db, keep: (owner: OwnerRecord) => void): Promise<void> {
  for (let after = 0; ; ) {
    const owners = await publicOwnersAfter(db, after, PAGE)
    const last = owners.at(-1)
    if (last === undefined) return
    const verifications = await verificationsBetween(db, after + 1, last.id)
    const byOwner = Map.groupBy(verifications, (each) => each.owner_id)
    for (const owner of owners) keep(ownerRecordOf(owner, byOwner.get(owner.id) ?? []))
    after = last.id
    await nextTurn()
  }
}

async function loadAgents(db: Db, agents: AgentIndex): Promise<void> {
  let coming = pageAfter(db, 0)
  for (let after = 0; ; ) {
    const page = await coming
    if (page === null || agents.overflowed) return
    const { last } = page
    // PostgreSQL makes the next one ready while this one is entered.
    coming = pageAfter(db, last)
    const touched = page.unmodified.includes('0') ? await modifiedAgents(db, after, last) : []
    const channels = await provenChannelsBetween(db, after, last)
    const channelsOf = Map.groupBy(channels, (each) => each.tail)
    for (const agent of unmodifiedIn(page)) {
      agents.upsert(channels.length === 0 ? agent : withChannels(agent, channelsOf.get(agent.tail)))
    }
    // One that was touched since the page was read is told of by an event, which will be followed.
    for (const row of touched) agents.upsert(recordOf(row, channelsOf.get(row.tail) ?? []))
    after = last
    await nextTurn()
  }
}

function pageAfter(db: Db, after: number): Promise<AgentPage | null> {
  const page = agentPageAfter(db, after, PAGE)
  // Where the one before it fails, nobody waits for it any more.
  page.catch(() => undefined)
  return page
}

function withChannels(agent: AgentRecord, channels: ProvenChannelRow[] | undefined): AgentRecord {
  if (channels === undefined) return agent
  return { ...agent, profile: { ...agent.profile, channels: channels.map(factsOfChannel) } }
}

/** The agents of a page of which nobody has changed anything. */
function* unmodifiedIn(page: AgentPage): Generator<AgentRecord> {
  const keys = Buffer.from(page.publicKeys, 'hex')
  const seqs = new Numbers(page.seqs)
  const ownerIds = new Numbers(page.ownerIds)
  const versions = new Numbers(page.versions)
  const claimedAts = new Numbers(page.claimedAts)
  for (let i = 0; i < page.count; i++) {
    const claimedAt = claimedAts.next()
    const agent: AgentRecord = {
      tail: page.tails.slice(i * TAIL_LENGTH, (i + 1) * TAIL_LENGTH) as Tail,
      publicKey: keys.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES),
      ownerId: ownerIds.next(),
      seq: seqs.next(),
      version: versions.next(),
      status: statusOf(page.statuses[i]),
      claimedAt,
      profile: initialProfile(claimedAt),
    }
    if (page.unmodified[i] === '1') yield agent
  }
}

function statusOf(letter: string | undefined): AgentStatus {
  return AGENT_STATUSES.find((status) => status[0] === letter) as AgentStatus
}

/** Numbers out of a text in which blanks stand between them. */
class Numbers {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  next(): number {
    let value = 0
    for (; this.#at < this.#text.length; this.#at++) {
      const digit = this.#text.charCodeAt(this.#at) - ZERO
      if (digit < 0) break
      value = value * 10 + digit
    }
    this.#at += 1
    return value
  }
}
