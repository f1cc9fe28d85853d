import type { AgentStatus, Assurance, CompactCard, Tier } from '@countersign/protocol'

/** How much a check of somebody's identity is worth, in words. */
export const ASSURANCE_WORDS: Readonly<Record<Assurance, string>> = {
  low: 'low assurance: an account elsewhere, or as little',
  substantial: 'substantial assurance: a check of the person or company',
  high: 'high assurance: an official proof of identity',
}

/** How much a channel is worth, in words. */
export const TIER_WORDS: Readonly<Record<Tier, string>> = {
  1: 'Tier 1 of 2, worth one point',
  2: 'Tier 2 of 2, worth two points',
}

export const VERDICTS: Readonly<Record<AgentStatus, string>> = {
  active: 'This certificate is valid.',
  suspended: 'This certificate does not hold at the moment.',
  revoked: 'This certificate is void, for good.',
}

/** What the one word of the compact card says. */
export const CARD_VERDICTS: Readonly<Record<CompactCard['verificationStatus'], string>> = {
  verified: 'Certified, and the identity of its owner is verified.',
  claim: 'Certified, but nobody has verified the identity of its owner.',
  unverified: 'Its certificate does not hold: do not rely on it.',
}

/** `key_compromised` as people write it. */
export function reasonWords(reason: string): string {
  return reason.replaceAll(/[_-]+/g, ' ')
}

/** In fours, for eyes that compare. */
export function grouped(text: string): string[] {
  return text.match(/.{1,4}/gs) ?? []
}
