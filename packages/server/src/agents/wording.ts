import type { AgentStatus, Assurance, CompactCard, StatusActor, Tier } from '@countersign/protocol'

/** Descriptions of the assurance levels. */
export const ASSURANCE_WORDS: Readonly<Record<Assurance, string>> = {
  low: 'low assurance: a social account or similar',
  substantial: 'substantial assurance: a check of the person or company',
  high: 'high assurance: an official proof of identity',
}

/** Descriptions of the channel tiers. */
export const TIER_WORDS: Readonly<Record<Tier, string>> = {
  1: 'Tier 1 of 2: one point',
  2: 'Tier 2 of 2: two points',
}

/** Marks verifications by providers for development. */
export const DEVELOPMENT_ONLY =
  'Development only: the owner was verified by a provider for development, which accepts any name. Do not rely on it.'

/** What an agent's status means for its certificate. */
export const VERDICTS: Readonly<Record<AgentStatus, string>> = {
  active: 'This certificate is valid.',
  suspended: 'This certificate is suspended. Do not rely on it for now.',
  revoked: 'This certificate is permanently revoked. Do not rely on it.',
}

/** Who sets a status. */
export const ACTOR_WORDS: Readonly<Record<StatusActor, string>> = {
  owner: 'its owner',
  operator: 'the operator',
  agent: 'the agent itself',
  service: 'the service',
}

/** Descriptions of the compact card's `verificationStatus`. */
export const CARD_VERDICTS: Readonly<Record<CompactCard['verificationStatus'], string>> = {
  verified: 'Certificate valid. The owner’s identity is verified.',
  claim: 'Certificate valid. The owner’s identity is not verified.',
  unverified: 'Certificate not valid. Do not rely on it.',
}

/** A status reason as words: `key compromised` for `key_compromised`. */
export function reasonWords(reason: string): string {
  return reason.replaceAll(/[_-]+/g, ' ')
}

/** The text in groups of four characters, which people can compare more easily. */
export function grouped(text: string): string[] {
  return text.match(/.{1,4}/gs) ?? []
}
