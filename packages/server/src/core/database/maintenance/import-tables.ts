import type { Tables } from '../database.ts'

/** What is counted for minutes: nobody is the worse off where it begins anew. */
type NotImported = 'rate_counts'

/**
 * Every table with the key that orders it, in an order in which each row finds those that it refers to.
 * A table that is missing here does not compile.
 */
export const TABLE_KEYS = {
  owners: ['id'],
  identity_verifications: ['owner_id', 'provider'],
  claim_tokens: ['hash'],
  agents: ['seq'],
  channels: ['id'],
  channel_checks: ['channel_id', 'at'],
  channel_leases: ['channel_id'],
  events: ['seq'],
  jobs: ['id'],
  passkeys: ['credential_id'],
  recovery_codes: ['hash'],
  sign_in_identities: ['provider', 'subject_hash'],
  sign_in_links: ['hash'],
  sessions: ['hash'],
  flows: ['hash'],
  facts: ['name'],
  avatars: ['tail'],
} as const satisfies {
  [T in Exclude<keyof Tables, NotImported>]: readonly (keyof Tables[T])[]
}
