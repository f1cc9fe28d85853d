import { randomBytes } from 'node:crypto'
import { type OrganisationDomain, SCIM_TYPE, SCIM_URNS } from '@countersign/protocol'
import { issueSignInLink } from '../../../packages/server/src/accounts/owners/sign-in-link.ts'
import { keyOfSeed } from '../../../test/support/key.ts'
import { connectSso } from '../../../test/support/scim.ts'
import { claimBody } from '../../../test/support/service.ts'
import { EXAMPLE_URL, HOSTS } from './example-service.ts'
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
  await recordDomain(world)
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

/** The identity provider of Ada's organisation manages its users. */
export async function recordScim({ ada, anyone, service }: World): Promise<void> {
  await connectSso(service.operator.db, 'acme')
  const tokens = '/api/account/scim-tokens'
  const token = await ada.record<{ id: string; secret: string }>(
    'createScimToken',
    'POST',
    `${tokens}?organisation=acme`,
    { status: 201 },
  )
  const headers = { authorization: `Bearer ${token.secret}` }
  await anyone.record('scimConfig', 'GET', '/scim/v2/ServiceProviderConfig', { headers })
  await anyone.record('scimResourceTypes', 'GET', '/scim/v2/ResourceTypes', { headers })
  await anyone.record('scimSchemas', 'GET', '/scim/v2/Schemas', { headers })
  const user = {
    schemas: [SCIM_URNS.user],
    userName: 'grace@example.com',
    externalId: '9f2c1c6e-5d0a-4b8e-9a51-0c6f3b7e2d14',
    displayName: 'Grace Hopper',
    active: true,
  }
  const sent = { ...headers, 'content-type': SCIM_TYPE }
  const { id } = await anyone.record<{ id: string }>('createScimUser', 'POST', '/scim/v2/Users', {
    headers: sent,
    body: user,
    status: 201,
  })
  const filter = encodeURIComponent('userName eq "grace@example.com"')
  await anyone.record('listScimUsers', 'GET', `/scim/v2/Users?filter=${filter}`, { headers })
  const url = `/scim/v2/Users/${id}`
  await anyone.record('readScimUser', 'GET', url, { headers })
  await anyone.record('replaceScimUser', 'PUT', url, {
    headers: sent,
    body: { ...user, displayName: 'Rear Admiral Grace Hopper' },
  })
  await anyone.record('changeScimUser', 'PATCH', url, {
    headers: sent,
    body: {
      schemas: [SCIM_URNS.patch],
      Operations: [{ op: 'replace', path: 'active', value: false }],
    },
  })
  await anyone.record('removeScimUser', 'DELETE', url, { headers, status: 204 })
  await ada.record('listScimTokens', 'GET', `${tokens}?organisation=acme`)
  const end = `${tokens}/${token.id}?organisation=acme`
  await ada.record('endScimToken', 'DELETE', end, { status: 204 })
}

/** Ada proves the domain of the organisation, and removes it. */
async function recordDomain({ ada, service }: World): Promise<void> {
  const path = '/api/account/domain'
  const { line, record } = await ada.record<OrganisationDomain>(
    'setOrganisationDomain',
    'PUT',
    `${path}${ACME}`,
    { body: { domain: HOSTS.owner } },
  )
  service.dns.set(record as string, 'TXT', [line as string])
  await ada.record('checkOrganisationDomain', 'POST', `${path}/check${ACME}`, { body: {} })
  await ada.record('organisationDomain', 'GET', `${path}${ACME}`)
  await ada.record('removeOrganisationDomain', 'DELETE', `${path}${ACME}`, { status: 204 })
}

async function recordSettings({ ada }: World): Promise<void> {
  const path = `/api/account/organisation${ACME}`
  await ada.record('organisationSettings', 'GET', path)
  await ada.record('editOrganisation', 'PATCH', path, {
    body: { suspendWithoutResponsibleAfterDays: 30 },
  })
}

/** Ada offers an agent to Margaret, who declines, and accepts when she offers it again. */
export async function recordTransfers(world: World): Promise<void> {
  const { service, ada, anyone, ownerId } = world
  const { operator } = service
  const margaret = await another(world, 'margaret')
  const key = keyOfSeed(Buffer.alloc(32, 99))
  const { svcDid } = await anyone.send<{ svcDid: string }>('POST', '/api/v1/claim', {
    body: claimBody(await operator.issueToken(ownerId), key, 'courier'),
  })
  const path = '/api/account/transfers'
  const offer = { body: { agents: [svcDid], to: 'margaret' }, status: 201 }
  const first = await ada.record<{ id: string }>('startTransfer', 'POST', path, offer)
  await ada.record('cancelTransfer', 'POST', `${path}/${first.id}/cancel`, { body: {} })
  const second = await ada.send<{ id: string }>('POST', path, offer)
  await margaret.record('declineTransfer', 'POST', `${path}/${second.id}/decline`, { body: {} })
  const third = await ada.send<{ id: string }>('POST', path, offer)
  await margaret.record('acceptTransfer', 'POST', `${path}/${third.id}/accept`, { body: {} })
  await ada.record('listTransfers', 'GET', path)
}
