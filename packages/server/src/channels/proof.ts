import { randomBase58, type Tail } from '@countersign/protocol'
import { didOfAgent, type Site } from '../base/site.ts'
import type { AgentRow, ChannelRow } from '../database/database.ts'
import { TOKEN_LIFETIME_MS } from './channel-state.ts'
import type { Proof } from './kinds/kind.ts'
import type { ExpectedProofs } from './observe.ts'

const TOKEN_LENGTH = 22

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
export function openProof(
  site: Site,
  agent: AgentRow,
  channel: ChannelRow,
  now: number,
): Proof | null {
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
