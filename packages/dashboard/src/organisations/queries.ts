import type {
  Invitations,
  MemberActions,
  Members,
  OrganisationSettings,
  OwnInvitations,
} from '@countersign/protocol'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { get } from '../api/client.ts'

export const MEMBERS_PATH = '/api/account/members'
export const INVITED_PATH = '/api/account/invitations'
export const INVITATIONS_PATH = '/api/invitations'

const BEGINNING = null as string | null

export const membersQuery = queryOptions({
  queryKey: ['members'],
  queryFn: ({ signal }) => get<Members>(MEMBERS_PATH, signal),
})

/** The open invitations of the organisation. */
export const invitedQuery = queryOptions({
  queryKey: ['invited'],
  queryFn: ({ signal }) => get<Invitations>(INVITED_PATH, signal),
})

/** The invitations to the person who is signed in. */
export const invitationsQuery = queryOptions({
  queryKey: ['invitations'],
  queryFn: ({ signal }) => get<OwnInvitations>(INVITATIONS_PATH, signal),
})

/** What members did for the organisation, newest first. */
export const actionsQuery = infiniteQueryOptions({
  queryKey: ['actions'],
  queryFn: ({ pageParam, signal }) => {
    const query = pageParam === null ? '' : `?before=${encodeURIComponent(pageParam)}`
    return get<MemberActions>(`/api/account/actions${query}`, signal)
  },
  initialPageParam: BEGINNING,
  getNextPageParam: ({ next }) => next,
})

export const SETTINGS_PATH = '/api/account/organisation'

/** The settings of the organisation. */
export const settingsQuery = queryOptions({
  queryKey: ['organisation-settings'],
  queryFn: ({ signal }) => get<OrganisationSettings>(SETTINGS_PATH, signal),
})
