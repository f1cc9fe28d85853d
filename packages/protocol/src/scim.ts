import type { Naming } from './naming.ts'

/** SCIM 2.0 (RFC 7643, RFC 7644): the identity provider of an organisation says who has left. */

/** RFC 7644 section 8.1. */
export const SCIM_TYPE = 'application/scim+json'

export const SCIM_URNS = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  resourceType: 'urn:ietf:params:scim:schemas:core:2.0:ResourceType',
  schema: 'urn:ietf:params:scim:schemas:core:2.0:Schema',
  config: 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  error: 'urn:ietf:params:scim:api:messages:2.0:Error',
} as const

/** The values of `scimType` that the service uses (RFC 7644 section 3.12). */
export const SCIM_ERROR_TYPES = [
  'invalidFilter',
  'invalidPath',
  'invalidSyntax',
  'invalidValue',
  'mutability',
  'noTarget',
  'uniqueness',
] as const
export type ScimErrorType = (typeof SCIM_ERROR_TYPES)[number]

/** The lifetime of a SCIM token in days. */
export const SCIM_TOKEN_DAYS = 365
/** Live SCIM tokens of an organisation: the old one and the new one, while they are exchanged. */
export const MAX_SCIM_TOKENS = 2
/** Users in the directory of an organisation. */
export const MAX_SCIM_USERS = 5000
/** Users in one page of a list. */
export const MAX_SCIM_PAGE = 100
/** Operations of one PATCH. */
export const MAX_SCIM_OPERATIONS = 100

/** How SCIM tokens of a deployment begin: `svc-scim-`. */
export function scimTokenPrefix({ shortName }: Naming): string {
  return `${shortName}-scim-`
}

/** Whether a text has the form of a SCIM token of a deployment: `svc-scim-` and 32 hexadecimal digits. */
export function isScimToken(naming: Naming, text: string): boolean {
  const prefix = scimTokenPrefix(naming)
  return text.startsWith(prefix) && /^[0-9a-f]{32}$/.test(text.slice(prefix.length))
}
