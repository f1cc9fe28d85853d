import assert from 'node:assert/strict'
import type { CheckedDomain, OrganisationDomain } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import {
  createOrganisation,
  type Member,
  type TestOrganisation,
} from '../../../../../test/support/organisations.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { DOMAIN, type Fixture } from './channel-fixture.ts'

export const DOMAIN_PATH = '/api/account/domain'

/** An organisation that has set a domain. */
export interface DomainHolder {
  readonly organisation: TestOrganisation
  readonly admin: Member
  /** What it has to publish. */
  readonly line: string
}

/** Sets the domain of an organisation and asserts success. */
export async function setDomain(
  admin: Pick<Member, 'send'>,
  domain = DOMAIN,
): Promise<OrganisationDomain> {
  const answer = await admin.send('PUT', DOMAIN_PATH, { domain })
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<OrganisationDomain>(answer)
}

/** Creates an organisation and sets its domain. */
export async function newDomainHolder(
  { service }: Fixture,
  username = 'acme',
  domain = DOMAIN,
): Promise<DomainHolder> {
  const organisation = await createOrganisation(service, username)
  const { admin } = organisation
  const { line } = await setDomain(admin, domain)
  return { organisation, admin, line: line as string }
}

/** Checks the domain now and asserts that the check ran. */
export async function checkDomain(admin: Pick<Member, 'post'>): Promise<CheckedDomain> {
  const answer = await admin.post(`${DOMAIN_PATH}/check`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<CheckedDomain>(answer)
}

/** The domain as an admin sees it, who signs in again, because sessions end while the clock moves. */
export async function domainOf(
  { service, now }: Fixture,
  { admin, organisation }: DomainHolder,
): Promise<OrganisationDomain> {
  const self = await signIn(service, admin.ownerId, now())
  const answer = await self.get(`${DOMAIN_PATH}?organisation=${organisation.username}`)
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<OrganisationDomain>(answer)
}
