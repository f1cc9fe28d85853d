import {
  type AccountExport,
  type ChannelCheck,
  type ChannelKindInWords,
  type ChannelState,
  CodedError,
  type OwnerChannel,
  type ProvenBy,
  randomBase58,
  type Tail,
  type Tier,
} from '@countersign/protocol'
import { requireOwn } from '../agents/find-agent.ts'
import { didOfAgent, type Site, tailOf } from '../base/site.ts'
import { timestamp, timestampOrNull } from '../base/timestamp.ts'
import type { AgentRow, ChannelRow, Db } from '../database/database.ts'
import { isVerified, TOKEN_LENGTH, TOKEN_LIFETIME_MS } from './channel-state.ts'
import { channelById } from './channel-table.ts'
import { type ChannelWithChecks, type CheckResult, channelsWithChecks } from './check-table.ts'
import { type ChannelDeps, type ChannelKind, getKind, type Proof } from './kinds/kind.ts'
import type { ExpectedProofs } from './observe.ts'

const CHECKS_SHOWN = 10

/** A channel and the agent to which it belongs. */
export interface OwnChannel {
  readonly agent: AgentRow
  readonly channel: ChannelRow
}

/**
 * Reads a channel of one of the owner's agents. A channel of another owner is refused like one that does not exist, so that
 * ids cannot be probed.
 * @param reference the agent's DID or tail
 * @param id the channel's id
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function getOwnChannel(
  db: Db,
  { site }: Pick<ChannelDeps, 'site'>,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnChannel> {
  const agent = await requireOwn(db, ownerId, tailOf(site.naming, reference))
  const channel = await channelById(db, id)
  if (channel?.tail !== agent.tail) throw notFound()
  return { agent, channel }
}

/** The kinds of channel for the API, the highest tier first. */
export function describeKinds(kinds: readonly ChannelKind[]): ChannelKindInWords[] {
  return kinds
    .map(({ id, label, tier, proves, field, check }) => {
      const provenBy: ProvenBy = check === null ? 'agent' : 'service'
      return { id, label, tier, proves, provenBy, field }
    })
    .sort((a, b) => b.tier - a.tier)
}

/**
 * Describes the channels of one of the owner's agents for the API, the oldest first.
 * @param reference the agent's DID or tail
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND
 */
export async function describeOwnChannels(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
): Promise<OwnerChannel[]> {
  const { read } = deps.db
  const agent = await requireOwn(read, ownerId, tailOf(deps.site.naming, reference))
  const channels = await channelsWithChecks(read, agent.tail)
  return channels.map((each) => describeForOwner(deps, agent, each))
}

/**
 * Describes one channel like `describeOwnChannels`.
 * @param id the channel's id
 * @throws CodedError VALIDATION_ERROR, NOT_FOUND, also if the channel has been removed in the meantime
 */
export async function describeOwnChannel(
  deps: ChannelDeps,
  ownerId: number,
  reference: string,
  id: string,
): Promise<OwnerChannel> {
  const channels = await describeOwnChannels(deps, ownerId, reference)
  const channel = channels.find((each) => each.id === id)
  if (channel === undefined) throw notFound()
  return channel
}

type ExportedChannel = AccountExport['agents'][number]['channels'][number]

/**
 * Describes the channels of an agent for the owner's data export. Tokens are left out, because an open token can prove the
 * channel.
 * @param now milliseconds since 1970
 */
export async function exportChannels(
  db: Db,
  tail: string,
  now: number,
): Promise<ExportedChannel[]> {
  const channels = await channelsWithChecks(db, tail)
  return channels.map(({ channel, dueAt, checks }) => ({
    ...describeState(channel, dueAt, now),
    id: channel.id,
    method: channel.proven_by,
    tokenExpiresAt: timestampOrNull(channel.proof_expires_at),
    checks: checks.map(describeCheck),
  }))
}

function describeForOwner(
  { site, channelSources, now }: ChannelDeps,
  agent: AgentRow,
  { channel, dueAt, checks }: ChannelWithChecks,
): OwnerChannel {
  const kind = getKind(channelSources, channel.kind)
  const at = now()
  const proof = openProof(site, agent, channel, at)
  return {
    id: channel.id,
    label: kind.label,
    link: kind.link(channel.handle_or_domain),
    ...describeState(channel, dueAt, at),
    proof: proof && { expiresAt: timestamp(proof.expiresAt), methods: [...kind.methods(proof)] },
    checks: checks.slice(0, CHECKS_SHOWN).map(describeCheck),
  }
}

/** The fields that the API and the export share. */
interface DescribedState {
  readonly kind: string
  readonly handleOrDomain: string
  readonly tier: Tier
  readonly state: ChannelState
  readonly createdAt: string
  readonly verifiedAt: string | null
  readonly checkedAt: string | null
  readonly freshUntil: string | null
  readonly staleSince: string | null
  readonly failingSince: string | null
  readonly nextCheckAt: string | null
}

function describeState(channel: ChannelRow, dueAt: number | null, now: number): DescribedState {
  const state = stateOf(channel, now)
  // An expired channel is stale even if the job that records it has not run yet.
  const staleSince = channel.stale_since ?? (state === 'stale' ? channel.fresh_until : null)
  return {
    kind: channel.kind,
    handleOrDomain: channel.handle_or_domain,
    tier: channel.tier,
    state,
    createdAt: timestamp(channel.created_at),
    verifiedAt: timestampOrNull(channel.verified_at),
    checkedAt: timestampOrNull(channel.checked_at),
    freshUntil: timestampOrNull(channel.fresh_until),
    staleSince: timestampOrNull(staleSince),
    failingSince: timestampOrNull(channel.failing_since),
    nextCheckAt: timestampOrNull(dueAt),
  }
}

function describeCheck({ at, outcome, perspectives }: CheckResult): ChannelCheck {
  return { at: timestamp(at), outcome, perspectives: JSON.parse(perspectives) }
}

function stateOf(channel: ChannelRow, now: number): ChannelState {
  if (channel.verified_at === null) return 'pending'
  return isVerified(channel, now) ? 'verified' : 'stale'
}

function notFound(): CodedError {
  return new CodedError('NOT_FOUND', 'This agent has no such channel.')
}

/**
 * A token for one channel of one agent: 22 base58 characters, 128.9 bits.
 * @param now milliseconds since 1970
 * @returns the columns of the channel's row to set
 */
export function newToken(randomBytes: (count: number) => Uint8Array, now: number) {
  return {
    proof_token: randomBase58(TOKEN_LENGTH, randomBytes),
    proof_expires_at: now + TOKEN_LIFETIME_MS,
  }
}

/** The proof that the owner is asked to place, or null if there is no token or it has expired. */
function openProof(site: Site, agent: AgentRow, channel: ChannelRow, now: number): Proof | null {
  const { proof_token: token, proof_expires_at: expiresAt } = channel
  if (token === null || expiresAt === null || expiresAt <= now) return null
  return { ...subjectOf(site, agent, channel), token, expiresAt }
}

/** The proofs that a check of a channel accepts at a moment. */
export function expectedProofs(
  site: Site,
  agent: AgentRow,
  channel: ChannelRow,
  now: number,
): ExpectedProofs {
  const { proven_token: token, proven_by: method, verified_at: expiresAt } = channel
  const known =
    token === null || method === null || expiresAt === null
      ? null
      : { proof: { ...subjectOf(site, agent, channel), token, expiresAt }, method }
  return { fresh: openProof(site, agent, channel, now), known, now }
}

function subjectOf(site: Site, agent: AgentRow, channel: ChannelRow) {
  return {
    naming: site.naming,
    did: didOfAgent(site, agent.tail as Tail),
    publicKey: agent.public_key,
    handle: channel.handle_or_domain,
    baseUrl: site.baseUrl,
  }
}
