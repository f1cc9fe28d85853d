import {
  type ChannelEvidence,
  decodeKey,
  strongestVerification,
  type Tail,
} from '@countersign/protocol'
import { ownerById, type PublicOwnerRow } from '../../accounts/owner-table.ts'
import {
  evidenceOfVerification,
  type VerificationOfOwner,
  verificationsOfOwner,
} from '../../accounts/verification-table.ts'
import type { AgentRow, Db, EventRow } from '../../database/database.ts'
import {
  type AgentRecord,
  DELETED_OWNER,
  initialProfile,
  type OwnerRecord,
} from '../agent-record.ts'
import { agentsByTails, isKeyLost } from '../agent-table.ts'
import { type ProvenChannelRow, provenChannels, provenChannelsOf } from '../proven-channel-table.ts'

/** The record of a new agent, from the event of its claim. Null: erased with the owner's account, so the row must be read. */
export function recordOfClaim({ seq, at, tail, owner_id, payload }: EventRow): AgentRecord | null {
  if (owner_id === null) return null
  const { publicKey } = JSON.parse(payload) as { publicKey: string }
  return {
    tail: tail as Tail,
    publicKey: decodeKey(publicKey) as Uint8Array,
    ownerId: owner_id,
    seq,
    version: seq,
    status: 'active',
    claimedAt: at,
    profile: initialProfile(at),
  }
}

/** The record of an agent, from its row and its proven channels. */
export function recordOf(row: AgentRow, channels: readonly ProvenChannelRow[]): AgentRecord {
  return {
    tail: row.tail as Tail,
    publicKey: row.public_key,
    ownerId: row.owner_id,
    seq: row.seq,
    version: row.version,
    status: row.status,
    claimedAt: row.claimed_at,
    profile: {
      keySequence: row.key_sequence,
      keyChangedAt: row.key_changed_at ?? row.claimed_at,
      isKeyLost: isKeyLost(row),
      statusReason: row.status_reason,
      statusChangedAt: row.status_changed_at,
      statusTime: row.status_time,
      updatedAt: row.updated_at,
      username: row.username,
      displayName: row.display_name,
      description: row.description,
      avatar: row.avatar,
      directoryProof: row.directory_proof === null ? null : JSON.parse(row.directory_proof),
      channels: channels.map(evidenceOfChannel),
      maxDelegationDepth: row.status === 'revoked' ? 0 : row.delegation_depth,
      ...(row.owner_changed_at !== null && { ownerChangedAt: row.owner_changed_at }),
    },
  }
}

/** A channel is fresh until its expiry or, if checks failed, until it became stale. */
export function evidenceOfChannel(row: ProvenChannelRow): ChannelEvidence {
  return {
    kind: row.kind,
    handleOrDomain: row.handle_or_domain,
    tier: row.tier,
    checkedAt: row.checked_at,
    freshUntil: row.stale_since ?? row.fresh_until,
  }
}

export async function loadRecord(db: Db, row: AgentRow): Promise<AgentRecord> {
  return recordOf(row, await provenChannels(db, row.tail))
}

/** Reads agents by their tails in two queries, since an owner may revoke thousands at once. Unknown tails are left out. */
export async function loadRecords(db: Db, tails: readonly string[]): Promise<AgentRecord[]> {
  const rows = await agentsByTails(db, tails)
  const channels = Map.groupBy(await provenChannelsOf(db, tails), ({ tail }) => tail)
  return rows.map((row) => recordOf(row, channels.get(row.tail) ?? []))
}

export function ownerRecordOf(
  row: PublicOwnerRow,
  rows: readonly VerificationOfOwner[],
): OwnerRecord {
  const verifications = rows.map(evidenceOfVerification)
  return {
    id: row.id,
    username: row.username,
    displayName: row.display_name,
    deleted: row.deleted_at !== null,
    isOrganisation: row.kind === 'organisation',
    verifications,
    strongest: strongestVerification(verifications, Number.NEGATIVE_INFINITY),
    nameChangedAt: row.name_changed_at,
    publishedNames: publishedNamesOf(rows),
  }
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()

function publishedNamesOf(rows: readonly VerificationOfOwner[]): ReadonlyMap<string, string> {
  const named = rows.filter((row) => row.published_name !== null)
  if (named.length === 0) return NO_NAMES
  return new Map(named.map((row) => [row.provider, row.published_name as string]))
}

export async function findOwner(db: Db, id: number): Promise<OwnerRecord | null> {
  const row = await ownerById(db, id)
  return row === undefined ? null : ownerRecordOf(row, await verificationsOfOwner(db, id))
}

/** The owner of an agent. A foreign key guarantees one, so an owner who is missing has deleted the account since the agent was read. */
export async function loadOwner(db: Db, id: number): Promise<OwnerRecord> {
  return (await findOwner(db, id)) ?? { ...DELETED_OWNER, id }
}
