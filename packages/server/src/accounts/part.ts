import { OutcomeCounter } from '../http/metrics/outcome-counter.ts'
import { openGuardedFetch } from '../http/outbound/guarded-fetch.ts'
import type { PartDeps } from '../http/part.ts'
import { identityRoutes } from './identity/identity-routes.ts'
import type { OverviewDeps } from './identity/overview.ts'
import { providerWebhookRoute } from './identity/provider-webhook-routes.ts'
import { EXPIRE_VERIFICATION, expireVerification } from './identity/record-verification.ts'
import { ADD_ADMIN, addAnnouncedAdmin } from './organisations/add-admin.ts'
import { deliverInvitation, OFFER_INVITATION } from './organisations/deliver-invitation.ts'
import { invitationRoutes } from './organisations/invitation-routes.ts'
import type { InvitationDeps } from './organisations/invitations.ts'
import type { MembersDeps } from './organisations/members.ts'
import { registerOrganisations } from './organisations/organisation-metrics.ts'
import { organisationRoutes } from './organisations/organisation-routes.ts'
import { ScimRequests } from './organisations/scim/scim-requests.ts'
import { scimRoutes } from './organisations/scim/scim-routes.ts'
import { scimTokenRoutes } from './organisations/scim/scim-token-routes.ts'
import { SsoClients } from './organisations/sso/sso-clients.ts'
import { SSO_RESULTS, ssoRoutes } from './organisations/sso/sso-routes.ts'
import { accountRoutes } from './owners/account-routes.ts'
import { apiKeyRoutes } from './owners/api-key-routes.ts'
import type { KeyRemains } from './owners/api-keys.ts'
import type { OwnersPart } from './owners/owner-routes.ts'
import { signInRoutes } from './owners/sign-in-routes.ts'
import type { OwnerDeps } from './providers/providers.ts'
import { FREE_USERNAMES, freeUsernames } from './username-quarantine.ts'

/** Accounts of owners: sign-up and sign-in, API keys, identity verifications. */
export function openAccounts(
  deps: PartDeps &
    OwnerDeps &
    OverviewDeps &
    KeyRemains &
    MembersDeps &
    Pick<InvitationDeps, 'rateLimiter'>,
): OwnersPart {
  const scimRequests = new ScimRequests()
  const ssoSignIns = new OutcomeCounter(SSO_RESULTS)
  const guardedFetch = openGuardedFetch(deps.settings, `Countersign (+${deps.site.baseUrl})`)
  const ssoClients = new SsoClients({ ...deps, guardedFetch })
  return {
    async routes(app) {
      await providerWebhookRoute(app, deps)
      await scimRoutes(app, deps, scimRequests)
    },
    ownerRoutes(app, owners) {
      const context = { ...owners, deps }
      signInRoutes(app, context)
      accountRoutes(app, context)
      apiKeyRoutes(app, context)
      identityRoutes(app, context)
      organisationRoutes(app, context)
      scimTokenRoutes(app, context)
      const mailDelivery = deps.settings.mail?.kind ?? null
      invitationRoutes(app, { ...owners, deps: { ...deps, mailDelivery } })
      ssoRoutes(app, { ...owners, deps: { ...deps, ssoClients, ssoSignIns } })
    },
    gauges(metrics) {
      registerOrganisations(metrics, deps.db.read)
      scimRequests.register(metrics)
      metrics.labelledCounter(
        'countersign_sso_sign_ins_total',
        'Sign-ins at the identity providers of organisations that came back, by result',
        () => ssoSignIns.counts,
        'result',
      )
    },
    close: () => guardedFetch.close(),
    jobs: {
      [EXPIRE_VERIFICATION]: expireVerification,
      [FREE_USERNAMES]: freeUsernames,
      [ADD_ADMIN]: (tx, job, at) => addAnnouncedAdmin(tx, deps.randomBytes, job, at),
      [OFFER_INVITATION]: (tx, job, at) => deliverInvitation(tx, deps.pepper, job, at),
    },
  }
}
