import type { Role } from '@countersign/protocol'
import type { QueryClient } from '@tanstack/react-query'
import { notFound, redirect } from '@tanstack/react-router'
import { dashboardOf, loadPage, organisation } from './api/acting-for.ts'
import { sessionQuery } from './api/queries.ts'
import { mayIn } from './api/use-may.ts'

interface LoaderInput {
  readonly context: { readonly queries: QueryClient }
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
