import { randomBase58, type Tail } from '@countersign/protocol'
import type { AgentRow, ChannelRow } from '../core/database/database.ts'
import { didOfAgent, type Site } from '../core/site.ts'
import type { ChannelKind, Proof } from './kinds/kind.ts'
import type { Sought } from './observe.ts'
import { TOKEN_LIFETIME_MS } from './schedule.ts'

const TOKEN_LENGTH = 22

/** A token for one channel of one agent: 22 base58 characters are 128.9 bits. */
export function newToken(randomBytes: (count: number) => Uint8Array, now: number) {
  return {
    proof_token: randomBase58(TOKEN_LENGTH, randomBytes),
    proof_expires_at: now + TOKEN_LIFETIME_MS,
  }
}

/** The proof that the owner is asked for now, or null where there is none or its time is over. */
export function openProof(
  site: Site,
  agent: AgentRow,
  channel: ChannelRow,
  now: number,
): Proof | null {
  const { proof_token: token, proof_expires_at: expiresAt } = channel
  if (token === null || expiresAt === null || expiresAt <= now) return null
  return { ...about(site, agent, channel), token, expiresAt }
}

/** What a check of a channel looks for. */
export function soughtOf(site: Site, agent: AgentRow, channel: ChannelRow, now: number): Sought {
  const { proven_token: token, proven_by: method, verified_at: expiresAt } = channel
  const known =
    token === null || method === null || expiresAt === null
      ? null
      : { proof: { ...about(site, agent, channel), token, expiresAt }, method }
  return { fresh: openProof(site, agent, channel, now), known, now }
}

/** Whether we look for it, or the agent comes to us. */
export function isLookedFor(kind: ChannelKind): boolean {
  return kind.check !== null
}

function about(site: Site, agent: AgentRow, channel: ChannelRow) {
  return {
    naming: site.naming,
    did: didOfAgent(site, agent.tail as Tail),
    publicKey: agent.public_key,
    handle: channel.handle_or_domain,
    baseUrl: site.baseUrl,
  }
}
