import { includesRole, type Role, type SessionState } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from './queries.ts'

type Organisation = SessionState['organisations'][number]

/** The organisation that a session acts for, with the role in it; undefined: the person's own account. */
export function actingIn({ actingFor, organisations }: SessionState): Organisation | undefined {
  return organisations.find(({ username }) => username === actingFor)
}

/** Whether a session may do what needs at least a role. Everybody may do everything in their own account. */
export function mayIn(session: SessionState, least: Role): boolean {
  if (session.actingFor === null) return true
  const acting = actingIn(session)
  return acting !== undefined && includesRole(acting.role, least)
}

/** @returns whether the signed-in person may do what needs at least a role. What they may not do is not shown. */
export function useMay(): (least: Role) => boolean {
  const session = useQuery(sessionQuery).data
  return (least) => session !== undefined && mayIn(session, least)
}
