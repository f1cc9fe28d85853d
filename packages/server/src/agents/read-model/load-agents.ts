import { setImmediate as nextTurn } from 'node:timers/promises'
import { AGENT_STATUSES, type AgentStatus, TAIL_LENGTH, type Tail } from '@countersign/protocol'
import { publicOwnersAfter } from '../../accounts/owner-table.ts'
import { verificationsBetween } from '../../accounts/verification-table.ts'
import type { Db } from '../../database/database.ts'
import { type AgentRecord, initialProfile, type OwnerRecord } from '../agent-record.ts'
import { countAgents } from '../agent-table.ts'
import { type ProvenChannelRow, provenChannelsBetween } from '../proven-channel-table.ts'
import type { AgentIndex } from './agent-index.ts'
import { type AgentPage, agentPageAfter, modifiedAgents } from './agent-page-table.ts'
import { evidenceOfChannel, ownerRecordOf, recordOf } from './rows.ts'
import { KEY_WORDS } from './words.ts'

/** Small enough that requests wait only a few milliseconds meanwhile, and that the garbage collector frees pages early. */
const PAGE_SIZE = 2000
/** Extra capacity for agents that are claimed later. */
const HEADROOM = 1.1

const KEY_BYTES = KEY_WORDS * 4
const DIGIT_ZERO = 48

/**
 * Loads all owners and agents, one page per turn of the event loop so that requests are answered meanwhile.
 * @returns false if there are more than `limit` agents
 */
export async function loadAll(
  db: Db,
  agents: AgentIndex,
  limit: number,
  addOwner: (owner: OwnerRecord) => void,
): Promise<boolean> {
  const count = await countAgents(db)
  if (count > limit) return false
  agents.reserve(Math.ceil(count * HEADROOM))
  await loadOwners(db, addOwner)
  await loadAgents(db, agents)
  return !agents.overflowed
}

async function loadOwners(db: Db, addOwner: (owner: OwnerRecord) => void): Promise<void> {
  for (let after = 0; ; ) {
    const owners = await publicOwnersAfter(db, after, PAGE_SIZE)
    const last = owners.at(-1)
    if (last === undefined) return
    const verifications = await verificationsBetween(db, after + 1, last.id)
    const byOwner = Map.groupBy(verifications, (each) => each.owner_id)
    for (const owner of owners) addOwner(ownerRecordOf(owner, byOwner.get(owner.id) ?? []))
    after = last.id
    await nextTurn()
  }
}

async function loadAgents(db: Db, agents: AgentIndex): Promise<void> {
  let nextPage = pageAfter(db, 0)
  for (let after = 0; ; ) {
    const page = await nextPage
    if (page === null || agents.overflowed) return
    const { last } = page
    // PostgreSQL prepares the next page while this one is inserted.
    nextPage = pageAfter(db, last)
    const modified = page.unmodified.includes('0') ? await modifiedAgents(db, after, last) : []
    const channels = await provenChannelsBetween(db, after, last)
    const channelsOf = Map.groupBy(channels, (each) => each.tail)
    for (const agent of unmodifiedIn(page)) {
      agents.upsert(channels.length === 0 ? agent : withChannels(agent, channelsOf.get(agent.tail)))
    }
    // An agent modified after its page was read has an event, which the caller applies after loading.
    for (const row of modified) agents.upsert(recordOf(row, channelsOf.get(row.tail) ?? []))
    after = last
    await nextTurn()
  }
}

function pageAfter(db: Db, after: number): Promise<AgentPage | null> {
  const page = agentPageAfter(db, after, PAGE_SIZE)
  // If the previous page fails, nobody awaits this one: prevent an unhandled rejection.
  page.catch(() => undefined)
  return page
}

function withChannels(agent: AgentRecord, channels: ProvenChannelRow[] | undefined): AgentRecord {
  if (channels === undefined) return agent
  return { ...agent, profile: { ...agent.profile, channels: channels.map(evidenceOfChannel) } }
}

/** The agents of a page that are unmodified since their claim. */
function* unmodifiedIn(page: AgentPage): Generator<AgentRecord> {
  const keys = Buffer.from(page.publicKeys, 'hex')
  const seqs = new NumberReader(page.seqs)
  const ownerIds = new NumberReader(page.ownerIds)
  const versions = new NumberReader(page.versions)
  const claimedAts = new NumberReader(page.claimedAts)
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

/** Reads decimal numbers that are separated by spaces. */
class NumberReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  next(): number {
    let value = 0
    for (; this.#at < this.#text.length; this.#at++) {
      const digit = this.#text.charCodeAt(this.#at) - DIGIT_ZERO
      if (digit < 0) break
      value = value * 10 + digit
    }
    this.#at += 1
    return value
  }
}
