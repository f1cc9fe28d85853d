/** The reasons that owners can choose for a status change, with the text that people see. */
export const REASONS: Readonly<Record<string, string>> = {
  key_compromised: 'Key may be compromised',
  owner_request: 'Requested by the owner',
  no_longer_used: 'No longer used',
  misbehaved: 'Misbehaved',
  under_review: 'Under review',
}

/** The reasons that only the service sets. */
const SERVICE_REASONS: Readonly<Record<string, string>> = {
  owner_suspended: 'Owner’s account is suspended',
  renounced_by_agent: 'Renounced by the agent',
  key_unknown_after_restore: 'Key was lost in a restore',
  owner_lost: 'No responsible person',
  enrolment_ended: 'Enrolment ended',
  owner_unknown_after_restore: 'New owner was lost in a restore',
}

/** The service's format for reasons (contract notes). */
export const REASON_PATTERN = /^[a-z][a-z0-9_-]{0,63}$/

/** The reason as a phrase that can end a sentence. */
export function reasonText(reason: string): string {
  return REASONS[reason] ?? SERVICE_REASONS[reason] ?? `“${reason.replaceAll(/[_-]+/g, ' ')}”`
}
