/** The reasons that owners can choose for a status change, with the text that people see. */
export const REASONS: Readonly<Record<string, string>> = {
  key_compromised: 'Its key may be in other hands',
  owner_request: 'Its owner wants it so',
  no_longer_used: 'It is no longer used',
  misbehaved: 'It misbehaved',
  under_review: 'It is being looked into',
}

/** The reasons that only the service sets. */
const SERVICE_REASONS: Readonly<Record<string, string>> = {
  owner_suspended: 'The account of its owner is suspended',
  renounced_by_agent: 'The agent gave up its certificate',
}

/** The service's format for reasons (contract notes). */
export const REASON_PATTERN = /^[a-z][a-z0-9_-]{0,63}$/

/** The reason as a phrase that can end a sentence. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? SERVICE_REASONS[reason] ?? `“${reason.replaceAll(/[_-]+/g, ' ')}”`
}
