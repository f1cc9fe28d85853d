import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute } from '@tanstack/react-router'
import { RootErrorPage } from './layout/error-page.tsx'
import { SignedInLayout } from './layout/signed-in-layout.tsx'
import { SignedOutLayout } from './layout/signed-out-layout.tsx'
import { loadForVisitor, requireSession } from './route-guards.ts'

interface Context {
  readonly queries: QueryClient
}

export const root = createRootRouteWithContext<Context>()()

/** The parent of the pages for visitors. */
export const signedOut = createRoute({
  getParentRoute: () => root,
  id: 'signed-out',
  component: SignedOutLayout,
  errorComponent: RootErrorPage,
  beforeLoad: loadForVisitor,
})

/** The parent of all other pages. */
export const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: SignedInLayout,
  errorComponent: RootErrorPage,
  beforeLoad: requireSession,
})
