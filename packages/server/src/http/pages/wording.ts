import type { AgentStatus, Assurance, Tier } from '@countersign/protocol'

/** How much a check of somebody's identity is worth, in words. */
export const ASSURANCE_WORDS: Readonly<Record<Assurance, string>> = {
  low: 'low assurance: an account elsewhere, or as little',
  substantial: 'substantial assurance: a check of the person or company',
  high: 'high assurance: an official proof of identity',
}

export const TIER_WORDS: Readonly<Record<Tier, string>> = {
  1: 'a chat account or a runtime',
  2: 'a domain or an agent-to-agent endpoint',
}

export const VERDICTS: Readonly<Record<AgentStatus, string>> = {
  active: 'This certificate is valid.',
  suspended: 'This certificate does not hold at the moment.',
  revoked: 'This certificate is void, for good.',
}

/** `key_compromised` as people write it. */
export function reasonWords(reason: string): string {
  return reason.replaceAll(/[_-]+/g, ' ')
}

/** The kinds of channels that people know under another name. */
const CHANNELS: Readonly<Record<string, string>> = {
  a2a: 'Agent-to-agent endpoint',
  domain: 'Domain',
  github: 'GitHub',
  bluesky: 'Bluesky',
  mastodon: 'Mastodon',
  telegram: 'Telegram',
  matrix: 'Matrix',
}

export function channelWords(kind: string): string {
  return CHANNELS[kind] ?? kind
}

/** In fours, for eyes that compare. */
export function grouped(text: string): string[] {
  return text.match(/.{1,4}/gs) ?? []
}
