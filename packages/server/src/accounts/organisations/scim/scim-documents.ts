import { MAX_SCIM_PAGE, SCIM_URNS } from '@countersign/protocol'
import { SCIM_BASE } from '../../../http/scim-errors.ts'

/* What the service says of itself to SCIM clients (RFC 7643 sections 5 to 7). */

/** @param baseUrl the service's own origin */
export function serviceProviderConfig(baseUrl: string) {
  return {
    schemas: [SCIM_URNS.config],
    documentationUri: `${baseUrl}/docs/organisations`,
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MAX_SCIM_PAGE },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A SCIM token that an admin of the organisation created',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: {
      resourceType: 'ServiceProviderConfig',
      location: `${baseUrl}${SCIM_BASE}/ServiceProviderConfig`,
    },
  }
}

export function resourceTypes() {
  return listOf([
    {
      schemas: [SCIM_URNS.resourceType],
      id: 'User',
      name: 'User',
      endpoint: '/Users',
      description: 'Users of the organisation',
      schema: SCIM_URNS.user,
    },
  ])
}

export function schemas() {
  return listOf([
    {
      schemas: [SCIM_URNS.schema],
      id: SCIM_URNS.user,
      name: 'User',
      description: 'What the service stores of a user; it ignores other attributes',
      attributes: [
        attribute('userName', 'string', { required: true, uniqueness: 'server' }),
        attribute('displayName', 'string'),
        attribute('active', 'boolean'),
      ],
    },
  ])
}

function attribute(
  name: string,
  type: string,
  own: { readonly required?: boolean; readonly uniqueness?: string } = {},
) {
  return {
    name,
    type,
    multiValued: false,
    description: DESCRIPTIONS[name] ?? '',
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...own,
  }
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  userName: 'unique in the organisation, without case',
  displayName: 'a name for people',
  active: 'false ends the membership of the person',
}

function listOf<T>(resources: readonly T[]) {
  return {
    schemas: [SCIM_URNS.list],
    totalResults: resources.length,
    startIndex: 1,
    itemsPerPage: resources.length,
    Resources: resources,
  }
}
