import type { Site } from '../../base/site.ts'

/** Where the grant issuers of all owners are. */
export const ISSUERS_PATH = '/oauth/issuers'

/** The URL of a grant issuer: the claim `iss` of its grants. */
export function grantIssuerUrl({ baseUrl }: Site, id: string): string {
  return `${baseUrl}${ISSUERS_PATH}/${id}`
}
