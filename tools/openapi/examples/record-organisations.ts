import { signInAgain } from './record-accounts.ts'
import type { World } from './world.ts'

/** Ada creates an organisation, and acts for it. */
export async function recordOrganisations(world: World): Promise<void> {
  const { ada } = world
  await signInAgain(world)
  await ada.record('createOrganisation', 'POST', '/api/organisations', {
    body: { username: 'acme', displayName: 'Acme Travel' },
    status: 201,
  })
  await ada.record('listMembers', 'GET', '/api/account/members?organisation=acme')
}
