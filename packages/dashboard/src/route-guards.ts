import type { Role } from '@countersign/protocol'
import type { QueryClient } from '@tanstack/react-query'
import { notFound, redirect } from '@tanstack/react-router'
import { dashboardOf, loadPage, organisation, signInPath } from './api/acting-for.ts'
import { sessionQuery } from './api/queries.ts'
import { mayIn } from './api/use-may.ts'

interface LoaderInput {
  readonly context: { readonly queries: QueryClient }
}

interface GuardInput extends LoaderInput {
  readonly location: { readonly href: string; readonly publicHref: string }
}

/** The `beforeLoad` of pages for visitors. Only persons sign in. */
export async function loadForVisitor({ context, location }: GuardInput): Promise<void> {
  if (organisation !== null) await loadPage(dashboardOf(null) + location.href)
  await context.queries.ensureQueryData(sessionQuery)
}

/** The `beforeLoad` of all other pages: visitors see the sign-in page, and those whom an organisation signed in see its pages. */
export async function requireSession({ context, location }: GuardInput): Promise<void> {
  const { owner, actingFor } = await context.queries.ensureQueryData(sessionQuery)
  if (actingFor !== null && organisation === null) {
    await loadPage(dashboardOf(actingFor) + location.href)
  }
  if (owner !== null) return
  if (organisation !== null) await loadPage(signInPath(location.publicHref))
  throw redirect({ to: '/sign-in', search: { next: location.publicHref } })
}

/** The loader of a page that needs at least a role in the organisation that one acts for. Everybody has it in their own account. */
export function requireRole(least: Role) {
  return async ({ context }: LoaderInput): Promise<void> => {
    const session = await context.queries.ensureQueryData(sessionQuery)
    if (!mayIn(session, least)) throw notFound()
  }
}

/** The loader of a tab that needs at least a role. Others see the first tab. */
export function requireRoleForTab(least: Role) {
  return async ({
    context,
    location,
  }: LoaderInput & { readonly location: { pathname: string } }) => {
    const session = await context.queries.ensureQueryData(sessionQuery)
    if (!mayIn(session, least)) throw redirect({ to: location.pathname.replace(/\/[^/]+$/, '') })
  }
}

/** The loader of a page that only organisations have. */
export function requireOrganisation(least: Role) {
  const loader = requireRole(least)
  return async (input: LoaderInput): Promise<void> => {
    if (organisation === null) throw notFound()
    await loader(input)
  }
}

/** The `beforeLoad` of a page that concerns only the person: loads it for their own account. */
export async function requirePerson({
  location,
}: {
  readonly location: { readonly href: string }
}) {
  if (organisation !== null) await loadPage(dashboardOf(null) + location.href)
}
