import type { Naming } from './naming.ts'

/** What an API key of an owner may do. */
export const API_KEY_SCOPES = [
  'agents:read',
  'events:read',
  'agents:write',
  'agents:status',
  'agents:revoke',
  'claim_tokens:create',
  'channels:write',
  'webhooks:read',
  'webhooks:write',
  'grants:read',
  'grants:write',
  'enrolment:read',
] as const
export type ApiKeyScope = (typeof API_KEY_SCOPES)[number]

/** The lifetime of an API key in days. */
export const API_KEY_DEFAULT_DAYS = 90
export const API_KEY_MAX_DAYS = 365

/** API keys that a person may have at once, expired ones included: for their own account, and for each organisation. */
export const MAX_API_KEYS = 20
/** API keys that an organisation may have at once, expired ones included. */
export const MAX_ORGANISATION_API_KEYS = 100

/** How API keys of a deployment begin: `svc-key-`. */
export function apiKeyPrefix({ shortName }: Naming): string {
  return `${shortName}-key-`
}

/** Whether a text has the form of an API key of a deployment: `svc-key-` and 32 hexadecimal digits. */
export function isApiKey(naming: Naming, text: string): boolean {
  const prefix = apiKeyPrefix(naming)
  return text.startsWith(prefix) && /^[0-9a-f]{32}$/.test(text.slice(prefix.length))
}
