import {
  checkedDomainSchema,
  emptyBody,
  newDomainSchema,
  organisationDomainSchema,
} from '@countersign/protocol'
import {
  noContent,
  type OwnerRouteContext,
  ownerSchema,
} from '../../accounts/owners/owner-routes.ts'
import type { App } from '../../http/server.ts'
import { checkDomainNow } from './check-domain.ts'
import { type DomainDeps, describeDomain, removeDomain, setDomain } from './organisation-domain.ts'

const DOMAIN = '/api/account/domain'

/** Registers the routes of the domain by which an organisation is verified. */
export function domainRoutes(
  app: App,
  { deps, authenticator }: OwnerRouteContext<DomainDeps>,
): void {
  app.get(DOMAIN, {
    schema: ownerSchema({
      operationId: 'organisationDomain',
      summary: 'Get the domain of the organisation, and what to publish there',
      response: { 200: organisationDomainSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireMember(request)
      return describeDomain(deps, ownerId)
    },
  })

  app.put(DOMAIN, {
    schema: ownerSchema({
      operationId: 'setOrganisationDomain',
      summary: 'Set the domain that the organisation will prove',
      body: newDomainSchema(),
      response: { 200: organisationDomainSchema() },
    }),
    handler: async (request) => {
      const session = await authenticator.requireMember(request)
      return setDomain(deps, session, request.body.domain)
    },
  })

  app.delete(DOMAIN, {
    schema: ownerSchema({
      operationId: 'removeOrganisationDomain',
      summary: 'Remove the domain of the organisation and the verification by it',
      response: { 204: noContent('Removed') },
    }),
    handler: async (request, reply) => {
      const { ownerId } = await authenticator.requireMember(request)
      await removeDomain(deps, ownerId)
      return reply.code(204).send(null as never)
    },
  })

  app.post(`${DOMAIN}/check`, {
    schema: ownerSchema({
      operationId: 'checkOrganisationDomain',
      summary: 'Check the domain of the organisation now, which verifies the organisation',
      body: emptyBody(),
      response: { 200: checkedDomainSchema() },
    }),
    handler: async (request) => {
      const { ownerId } = await authenticator.requireMember(request)
      return checkDomainNow(deps, ownerId)
    },
  })
}
