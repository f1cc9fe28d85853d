import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { signedIn } from '../../layout-routes.ts'
import { requireRole } from '../../route-guards.ts'
import { stringParams } from '../../string-params.ts'

const approvals = createRoute({
  getParentRoute: () => signedIn,
  path: '/approvals',
  validateSearch: stringParams('state'),
  loader: requireRole('manager'),
  component: lazyRouteComponent(() => import('./approvals-page.tsx'), 'ApprovalsPage'),
})

const approval = createRoute({
  getParentRoute: () => signedIn,
  path: '/approvals/$approval',
  loader: requireRole('manager'),
  component: lazyRouteComponent(() => import('./approval-page.tsx'), 'ApprovalPage'),
})

const newMandate = createRoute({
  getParentRoute: () => signedIn,
  path: '/approvals/$approval/mandate',
  loader: requireRole('manager'),
  component: lazyRouteComponent(() => import('../mandates/new-mandate-page.tsx'), 'NewMandatePage'),
})

const mandates = createRoute({
  getParentRoute: () => signedIn,
  path: '/approvals/mandates',
  loader: requireRole('manager'),
  component: lazyRouteComponent(() => import('../mandates/mandates-page.tsx'), 'MandatesPage'),
})

/** The pages of approvals and standing mandates. */
export const approvalRoutes = [approvals, approval, newMandate, mandates] as const
