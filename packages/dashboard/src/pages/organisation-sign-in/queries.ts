import type { ScimTokens, SsoConnection } from '@countersign/protocol'
import { queryOptions } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

export const SSO_PATH = '/api/account/sso'
export const SCIM_TOKENS_PATH = '/api/account/scim-tokens'

/** The identity provider of the organisation. Admins see it. */
export const connectionQuery = queryOptions({
  queryKey: ['sso'],
  queryFn: ({ signal }) => get<{ connection: SsoConnection | null }>(SSO_PATH, signal),
})

export const scimTokensQuery = queryOptions({
  queryKey: ['scim-tokens'],
  queryFn: ({ signal }) => get<ScimTokens>(SCIM_TOKENS_PATH, signal),
})
