/** Words for a change of status that programs can switch on, and what they mean to people. */
export const REASONS: Readonly<Record<string, string>> = {
  key_compromised: 'Its key may be in other hands',
  owner_request: 'Its owner wants it so',
  no_longer_used: 'It is no longer used',
  misbehaved: 'It misbehaved',
  under_review: 'It is being looked into',
}

/** What a word of one's own may look like, as the service asks for it. */
export const REASON_PATTERN = /^[a-z][a-z0-9_-]{0,63}$/

/** @returns a reason as people read it, at the end of a sentence of its own */
export function reasonInWords(reason: string): string {
  return REASONS[reason] ?? `“${reason.replaceAll(/[_-]+/g, ' ')}”`
}
