import { randomBytes } from 'node:crypto'
import { issueSignInLink } from '../../../packages/server/src/accounts/owners/sign-in-link.ts'
import { EXAMPLE_URL } from './example-service.ts'
import { signInAgain } from './record-accounts.ts'
import type { Recorder } from './recorder.ts'
import type { World } from './world.ts'

const ACME = '?organisation=acme'

/** Ada creates an organisation, and acts for it. */
export async function recordOrganisations(world: World): Promise<void> {
  const { ada } = world
  await signInAgain(world)
  await ada.record('createOrganisation', 'POST', '/api/organisations', {
    body: { username: 'acme', displayName: 'Acme Travel' },
    status: 201,
  })
  await recordInvitations(world)
  await recordMembers(world)
  await recordSettings(world)
}

/** Ada invites Mary and Alan. Mary accepts, Alan declines. */
async function recordInvitations(world: World): Promise<void> {
  const { ada } = world
  const path = '/api/account/invitations'
  const mary = await another(world, 'mary')
  const alan = await another(world, 'alan')
  const invitation = { body: { username: 'mary', role: 'manager' }, status: 201 }
  const toMary = await ada.record<{ id: string }>(
    'createInvitation',
    'POST',
    path + ACME,
    invitation,
  )
  const invite = (username: string) =>
    ada.send<{ id: string }>('POST', path + ACME, {
      body: { username, role: 'viewer' },
      status: 201,
    })
  const toAlan = await invite('alan')
  const toNobody = await invite('nobody')
  await ada.record('listInvitations', 'GET', path + ACME)
  await ada.record('withdrawInvitation', 'DELETE', `${path}/${toNobody.id}${ACME}`, { status: 204 })
  await mary.record('listOwnInvitations', 'GET', '/api/invitations')
  await mary.record('acceptInvitation', 'POST', `/api/invitations/${toMary.id}/accept`, {
    body: { role: 'manager' },
  })
  await alan.record('declineInvitation', 'POST', `/api/invitations/${toAlan.id}/decline`, {
    body: {},
    status: 204,
  })
}

async function recordMembers({ ada }: World): Promise<void> {
  const path = '/api/account/members'
  const { members } = await ada.record<{ members: { id: string; you: boolean }[] }>(
    'listMembers',
    'GET',
    path + ACME,
  )
  const member = `${path}/${members.find(({ you }) => !you)?.id}${ACME}`
  await ada.record('changeMember', 'PATCH', member, { body: { role: 'responder' } })
  await ada.record('removeMember', 'DELETE', member)
  await ada.record('listActions', 'GET', `/api/account/actions${ACME}`)
}

/** The browser of another person. */
async function another({ service, anyone }: World, username: string): Promise<Recorder> {
  const deps = { db: service.operator.db, now: Date.now, randomBytes }
  const id = await service.operator.addVerifiedOwner(username)
  const { url } = await issueSignInLink(deps, EXAMPLE_URL, id)
  const browser = anyone.another()
  await browser.send('POST', '/api/sign-in/link', { body: { token: url.split('#link=')[1] } })
  return browser
}

async function recordSettings({ ada }: World): Promise<void> {
  const path = `/api/account/organisation${ACME}`
  await ada.record('organisationSettings', 'GET', path)
  await ada.record('editOrganisation', 'PATCH', path, {
    body: { suspendWithoutResponsibleAfterDays: 30 },
  })
}
