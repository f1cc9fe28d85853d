import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { signedIn } from '../../layout-routes.ts'
import { requireRole } from '../../route-guards.ts'

const enrolment = createRoute({
  getParentRoute: () => signedIn,
  path: '/enrolment',
  component: lazyRouteComponent(() => import('./rules-page.tsx'), 'RulesPage'),
})

const newRule = createRoute({
  getParentRoute: () => signedIn,
  path: '/enrolment/new',
  loader: requireRole('manager'),
  component: lazyRouteComponent(() => import('./new-rule-page.tsx'), 'NewRulePage'),
})

const rule = createRoute({
  getParentRoute: () => signedIn,
  path: '/enrolment/$rule',
  component: lazyRouteComponent(() => import('./rule-page.tsx'), 'RulePage'),
})

const editRule = createRoute({
  getParentRoute: () => signedIn,
  path: '/enrolment/$rule/edit',
  loader: requireRole('manager'),
  component: lazyRouteComponent(() => import('./edit-rule-page.tsx'), 'EditRulePage'),
})

/** The pages of enrolment rules. */
export const enrolmentRoutes = [enrolment, newRule, rule, editRule] as const
