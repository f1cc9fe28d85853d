import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { sessionQuery } from './api/session.ts'
import { NotFoundPage } from './layout/not-found-page.tsx'
import { SignedInLayout } from './layout/signed-in-layout.tsx'
import { SignedOutLayout } from './layout/signed-out-layout.tsx'
import { TroubleAtStart, TroublePage } from './layout/trouble-page.tsx'
import { Waiting } from './layout/waiting.tsx'

interface Context {
  readonly queries: QueryClient
}

const root = createRootRouteWithContext<Context>()()

/** What may stand in an address as text; everything else in it is ignored. */
function texts<K extends string>(...keys: readonly K[]) {
  return (search: Record<string, unknown>): { [key in K]?: string } => {
    const found: { [key in K]?: string } = {}
    for (const key of keys) {
      const value = search[key]
      if (value !== undefined && value !== null) found[key] = String(value)
    }
    return found
  }
}

const signedOut = createRoute({
  getParentRoute: () => root,
  id: 'signed-out',
  component: SignedOutLayout,
  errorComponent: TroubleAtStart,
  beforeLoad: ({ context }) => context.queries.ensureQueryData(sessionQuery).then(() => undefined),
})

const signIn = createRoute({
  getParentRoute: () => signedOut,
  path: '/sign-in',
  validateSearch: texts('next', 'failed', 'message', 'request'),
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage'),
})

const signUp = createRoute({
  getParentRoute: () => signedOut,
  path: '/sign-up',
  validateSearch: texts('provider'),
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-up-page.tsx'), 'SignUpPage'),
})

/** Whoever is not signed in is led to sign in, and back. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: SignedInLayout,
  errorComponent: TroubleAtStart,
  beforeLoad: async ({ context, location }) => {
    const session = await context.queries.ensureQueryData(sessionQuery)
    if (session.owner === null) {
      throw redirect({ to: '/sign-in', search: { next: location.publicHref } })
    }
  },
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
  validateSearch: texts('search', 'status', 'grade'),
  component: lazyRouteComponent(() => import('./pages/agents/agents-page.tsx'), 'AgentsPage'),
})

const agent = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$did',
  component: lazyRouteComponent(() => import('./pages/agent/agent-page.tsx'), 'AgentPage'),
})

const newChannel = createRoute({
  getParentRoute: () => signedIn,
  path: '/agents/$did/channels/new',
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
  component: lazyRouteComponent(() => import('./pages/claim/claim-page.tsx'), 'ClaimPage'),
})

const identity = createRoute({
  getParentRoute: () => signedIn,
  path: '/identity',
  validateSearch: texts('verified', 'failed', 'message', 'request'),
  component: lazyRouteComponent(() => import('./pages/identity/identity-page.tsx'), 'IdentityPage'),
})

const account = createRoute({
  getParentRoute: () => signedIn,
  path: '/account',
  validateSearch: texts('linked', 'failed', 'message', 'request'),
  component: lazyRouteComponent(() => import('./pages/account/account-page.tsx'), 'AccountPage'),
})

const elsewhere = createRoute({
  getParentRoute: () => signedIn,
  path: '$',
  component: NotFoundPage,
})

const tree = root.addChildren([
  signedOut.addChildren([signIn, signUp]),
  signedIn.addChildren([
    home,
    agents,
    agent,
    newChannel,
    channel,
    claim,
    identity,
    account,
    elsewhere,
  ]),
])

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    basepath: '/dashboard',
    context: { queries },
    defaultPreload: 'intent',
    defaultPendingComponent: Waiting,
    defaultPendingMs: 200,
    defaultPendingMinMs: 0,
    defaultErrorComponent: TroublePage,
    defaultNotFoundComponent: NotFoundPage,
    scrollRestoration: true,
    // A DID stands in an address as it is read.
    pathParamsAllowedCharacters: [':'],
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
