import type { OrganisationDomain } from '@countersign/protocol'
import { queryOptions } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

export const DOMAIN_PATH = '/api/account/domain'

/** The domain of the organisation. Managers and admins see it. */
export const domainQuery = queryOptions({
  queryKey: ['domain'],
  queryFn: ({ signal }) => get<OrganisationDomain>(DOMAIN_PATH, signal),
})
