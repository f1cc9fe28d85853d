import type { QueryClient } from '@tanstack/react-query'
import { createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { dashboardOf, organisation } from './api/acting-for.ts'
import { ErrorPage } from './layout/error-page.tsx'
import { NotFoundPage } from './layout/not-found-page.tsx'
import { PagePlaceholder } from './layout/page-placeholder.tsx'
import { root, signedIn, signedOut } from './layout-routes.ts'
import { approvalRoutes } from './pages/approvals/routes.ts'
import { enrolmentRoutes } from './pages/enrolment/routes.ts'
import {
  requireOrganisation,
  requirePerson,
  requireRole,
  requireRoleForTab,
} from './route-guards.ts'
import { stringParams } from './string-params.ts'

const signIn = createRoute({
  getParentRoute: () => signedOut,
  path: '/sign-in',
  validateSearch: stringParams('next', 'failed', 'code', 'request', 'organisation'),
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage'),
})

const signUp = createRoute({
  getParentRoute: () => signedOut,
  path: '/sign-up',
  validateSearch: stringParams('provider'),
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-up-page.tsx'), 'SignUpPage'),
})

const home = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/agents' })
  },
})

const agents = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents',
  validateSearch: stringParams('search', 'status', 'grade', 'responsible', 'enrolled', 'sort'),
  component: lazyRouteComponent(() => import('./pages/agents/agents-page.tsx'), 'AgentsPage'),
})

const agent = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$did',
  component: lazyRouteComponent(() => import('./pages/agent/agent-page.tsx'), 'AgentPage'),
})

const agentOverview = createRoute({
  getParentRoute: () => agent,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/agent/overview-tab.tsx'), 'OverviewTab'),
})

const agentProfile = createRoute({
  getParentRoute: () => agent,
  path: 'profile',
  loader: requireRoleForTab('manager'),
  component: lazyRouteComponent(() => import('./pages/agent/profile-tab.tsx'), 'ProfileTab'),
})

const agentChannels = createRoute({
  getParentRoute: () => agent,
  path: 'channels',
  component: lazyRouteComponent(() => import('./pages/agent/channels-tab.tsx'), 'ChannelsTab'),
})

const agentKeys = createRoute({
  getParentRoute: () => agent,
  path: 'keys',
  component: lazyRouteComponent(() => import('./pages/agent/keys/keys-tab.tsx'), 'KeysTab'),
})

const agentDelegation = createRoute({
  getParentRoute: () => agent,
  path: 'delegation',
  component: lazyRouteComponent(() => import('./pages/agent/delegation-tab.tsx'), 'DelegationTab'),
})

const agentOAuth = createRoute({
  getParentRoute: () => agent,
  path: 'oauth',
  component: lazyRouteComponent(() => import('./pages/agent/oauth-tab.tsx'), 'OAuthTab'),
})

const agentShare = createRoute({
  getParentRoute: () => agent,
  path: 'share',
  component: lazyRouteComponent(() => import('./pages/agent/share-tab.tsx'), 'ShareTab'),
})

const agentActivity = createRoute({
  getParentRoute: () => agent,
  path: 'activity',
  component: lazyRouteComponent(() => import('./pages/agent/activity-tab.tsx'), 'ActivityTab'),
})

const agentReports = createRoute({
  getParentRoute: () => agent,
  path: 'reports',
  loader: requireRoleForTab('responder'),
  component: lazyRouteComponent(() => import('./pages/agent/reports-tab.tsx'), 'ReportsTab'),
})

const agentDanger = createRoute({
  getParentRoute: () => agent,
  path: 'danger',
  loader: requireRoleForTab('responder'),
  component: lazyRouteComponent(() => import('./pages/agent/danger-tab.tsx'), 'DangerTab'),
})

const newChannel = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$did/channels/new',
  loader: requireRole('manager'),
  component: lazyRouteComponent(
    () => import('./pages/channel/new-channel-page.tsx'),
    'NewChannelPage',
  ),
})

const channel = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$did/channels/$channel',
  component: lazyRouteComponent(() => import('./pages/channel/channel-page.tsx'), 'ChannelPage'),
})

const claim = createRoute({
  getParentRoute: () => signedIn,
  path: '/claim',
  loader: requireRole('manager'),
  component: lazyRouteComponent(() => import('./pages/claim/claim-page.tsx'), 'ClaimPage'),
})

const activity = createRoute({
  getParentRoute: () => signedIn,
  path: '/activity',
  validateSearch: stringParams('kind'),
  component: lazyRouteComponent(() => import('./pages/activity/activity-page.tsx'), 'ActivityPage'),
})

const identity = createRoute({
  getParentRoute: () => signedIn,
  path: '/identity',
  validateSearch: stringParams('verified', 'failed', 'code', 'request'),
  component: lazyRouteComponent(() => import('./pages/identity/identity-page.tsx'), 'IdentityPage'),
})

const account = createRoute({
  getParentRoute: () => signedIn,
  path: '/account',
  component: lazyRouteComponent(() => import('./pages/account/account-page.tsx'), 'AccountPage'),
})

const accountProfile = createRoute({
  getParentRoute: () => account,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/account/profile-tab.tsx'), 'ProfileTab'),
})

const accountSecurity = createRoute({
  getParentRoute: () => account,
  path: 'security',
  validateSearch: stringParams('linked', 'failed', 'code', 'request'),
  beforeLoad: requirePerson,
  component: lazyRouteComponent(() => import('./pages/account/security-tab.tsx'), 'SecurityTab'),
})

const accountSignIn = createRoute({
  getParentRoute: () => account,
  path: 'sign-in',
  loader: requireOrganisation('viewer'),
  component: lazyRouteComponent(
    () => import('./pages/organisation-sign-in/sign-in-tab.tsx'),
    'SignInTab',
  ),
})

const accountNotifications = createRoute({
  getParentRoute: () => account,
  path: 'notifications',
  loader: requireRoleForTab('manager'),
  component: lazyRouteComponent(
    () => import('./pages/account/notifications-tab.tsx'),
    'NotificationsTab',
  ),
})

const accountDevelopers = createRoute({
  getParentRoute: () => account,
  path: 'developers',
  loader: requireRoleForTab('manager'),
  component: lazyRouteComponent(
    () => import('./pages/account/developers-tab.tsx'),
    'DevelopersTab',
  ),
})

const accountData = createRoute({
  getParentRoute: () => account,
  path: 'data',
  loader: requireRoleForTab('admin'),
  component: lazyRouteComponent(() => import('./pages/account/data-tab.tsx'), 'DataTab'),
})

const notifications = createRoute({
  getParentRoute: () => signedIn,
  path: '/notifications',
  component: lazyRouteComponent(
    () => import('./pages/notifications/notifications-page.tsx'),
    'NotificationsPage',
  ),
})

const webhooks = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks',
  loader: requireRole('manager'),
  component: lazyRouteComponent(() => import('./pages/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
})

const webhook = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks/$webhook',
  validateSearch: stringParams('state'),
  loader: requireRole('manager'),
  component: lazyRouteComponent(() => import('./pages/webhooks/webhook-page.tsx'), 'WebhookPage'),
})

const grantIssuers = createRoute({
  getParentRoute: () => signedIn,
  path: '/grant-issuers',
  component: lazyRouteComponent(
    () => import('./pages/grant-issuers/grant-issuers-page.tsx'),
    'GrantIssuersPage',
  ),
})

const transfers = createRoute({
  getParentRoute: () => signedIn,
  path: '/transfers',
  component: lazyRouteComponent(
    () => import('./pages/transfers/transfers-page.tsx'),
    'TransfersPage',
  ),
})

const offer = createRoute({
  getParentRoute: () => signedIn,
  path: '/transfers/new',
  loader: requireRole('admin'),
  component: lazyRouteComponent(() => import('./pages/transfers/offer-page.tsx'), 'OfferPage'),
})

const members = createRoute({
  getParentRoute: () => signedIn,
  path: '/members',
  loader: requireOrganisation('viewer'),
  component: lazyRouteComponent(() => import('./pages/members/members-page.tsx'), 'MembersPage'),
})

const membersList = createRoute({
  getParentRoute: () => members,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/members/members-tab.tsx'), 'MembersTab'),
})

const membersInvited = createRoute({
  getParentRoute: () => members,
  path: 'invitations',
  loader: requireRoleForTab('admin'),
  component: lazyRouteComponent(() => import('./pages/members/invited-tab.tsx'), 'InvitedTab'),
})

const membersActions = createRoute({
  getParentRoute: () => members,
  path: 'actions',
  component: lazyRouteComponent(() => import('./pages/members/actions-tab.tsx'), 'ActionsTab'),
})

const newOrganisation = createRoute({
  getParentRoute: () => signedIn,
  path: '/organisations/new',
  beforeLoad: requirePerson,
  component: lazyRouteComponent(
    () => import('./pages/organisations/new-organisation-page.tsx'),
    'NewOrganisationPage',
  ),
})

const invitations = createRoute({
  getParentRoute: () => signedIn,
  path: '/invitations',
  beforeLoad: requirePerson,
  component: lazyRouteComponent(
    () => import('./pages/organisations/invitations-page.tsx'),
    'InvitationsPage',
  ),
})

const unknown = createRoute({
  getParentRoute: () => signedIn,
  path: '$',
  component: NotFoundPage,
})

const tree = root.addChildren([
  signedOut.addChildren([signIn, signUp]),
  signedIn.addChildren([
    home,
    agents,
    agent.addChildren([
      agentOverview,
      agentProfile,
      agentChannels,
      agentKeys,
      agentDelegation,
      agentOAuth,
      agentShare,
      agentActivity,
      agentReports,
      agentDanger,
    ]),
    newChannel,
    channel,
    claim,
    activity,
    identity,
    account.addChildren([
      accountProfile,
      accountSecurity,
      accountSignIn,
      accountNotifications,
      accountDevelopers,
      accountData,
    ]),
    notifications,
    webhooks,
    webhook,
    ...enrolmentRoutes,
    grantIssuers,
    ...approvalRoutes,
    transfers,
    offer,
    members.addChildren([membersList, membersInvited, membersActions]),
    newOrganisation,
    invitations,
    unknown,
  ]),
])

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    basepath: dashboardOf(organisation),
    context: { queries },
    defaultPreload: 'intent',
    defaultPendingComponent: PagePlaceholder,
    defaultPendingMs: 200,
    defaultPendingMinMs: 0,
    defaultErrorComponent: ErrorPage,
    defaultNotFoundComponent: NotFoundPage,
    scrollRestoration: true,
    // Keeps the colons of DIDs in the URL unescaped.
    pathParamsAllowedCharacters: [':'],
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
