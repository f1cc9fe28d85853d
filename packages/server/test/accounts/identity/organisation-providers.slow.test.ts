import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Identity, VerificationBegun } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import {
  createOrganisation,
  type Member,
  type TestOrganisation,
} from '../../../../../test/support/organisations.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { UserAgent } from '../../../../../test/support/user-agent.ts'
import {
  type BegunIdentity,
  beginIdentity,
  comeBack,
  logInAtProvider,
  signInNewcomer,
} from '../../../../../test/support/verify-identity.ts'
import { endMembership } from '../../../src/accounts/organisations/end-membership.ts'
import { providerAt, startOidcServer } from './oidc-server.ts'
import { startWithProviders } from './with-providers.ts'

type Server = Awaited<ReturnType<typeof startOidcServer>>

const COMPANY = { number: 'DE-HRB-12345', kind: 'organisation', subjectClaim: 'org_number' }

/** A provider for organisations beside one for persons, at the same issuer. */
async function startWithBoth(t: Parameters<typeof startOidcServer>[0], claims: object = {}) {
  const server = await startOidcServer(t, {
    claims: (right) => ({ ...right, org_number: COMPANY.number, ...claims }),
  })
  const forCompanies = {
    ...providerAt(server.url, 'company'),
    label: 'Company register',
    for: COMPANY.kind,
    subjectClaim: COMPANY.subjectClaim,
  }
  const service = await startWithProviders(t, [providerAt(server.url), forCompanies])
  return { server, service }
}

async function begin(admin: Member): Promise<BegunIdentity> {
  const answer = await admin.post('/api/identity/company/begin', {})
  assert.equal(answer.status, 200, answer.text)
  const browser = new UserAgent(admin.cookie)
  browser.take(answer.headers)
  return { browser, redirect: jsonOf<VerificationBegun>(answer).redirect as string }
}

/** Returns from the provider. @returns the path and the query of the dashboard's page */
async function complete(
  service: TestService,
  server: Server,
  { browser, redirect }: BegunIdentity,
): Promise<{ readonly path: string; readonly outcome: Record<string, string> }> {
  const back = server.authorize(redirect)
  const url = new URL(back.pathname + back.search, service.url)
  const response = await browser.request(url)
  assert.equal(response.status, 303, await response.text())
  const { pathname, searchParams } = new URL(response.headers.get('location') as string, url)
  return { path: pathname, outcome: Object.fromEntries(searchParams) }
}

async function verificationsOf({ admin }: TestOrganisation) {
  const { verifications } = jsonOf<Identity>(await admin.get('/api/identity'))
  return verifications.map(({ provider, assurance }) => ({ provider, assurance }))
}

suite('an identity provider for organisations', () => {
  test('verifies the company that the claim names, once, whichever admin signs in', async (t) => {
    let sub = 'employee-1'
    const server = await startOidcServer(t, {
      claims: (right) => ({ ...right, sub, org_number: COMPANY.number }),
    })
    const provider = { ...providerAt(server.url, 'company'), for: 'organisation' }
    const service = await startWithProviders(t, [{ ...provider, subjectClaim: 'org_number' }])
    const acme = await createOrganisation(service, 'acme')
    const done = await complete(service, server, await begin(acme.admin))
    assert.deepEqual(done, { path: '/dashboard/o/acme/identity', outcome: { verified: 'company' } })
    const verified = [{ provider: 'company', assurance: 'substantial' }]
    assert.deepEqual(await verificationsOf(acme), verified)

    sub = 'employee-2'
    const other = await createOrganisation(service, 'other')
    const again = await complete(service, server, await begin(other.admin))
    assert.equal(again.outcome.code, 'other-account')
    const colleague = await acme.addMember('grace', 'admin')
    const renewed = await complete(service, server, await begin(colleague))
    assert.equal(renewed.outcome.verified, 'company')
  })

  test('verifies no person, as a provider for persons verifies no organisation', async (t) => {
    const { server, service } = await startWithBoth(t)
    const acme = await createOrganisation(service)
    const person = await signInNewcomer(service)
    const refused = await person.post('/api/identity/company/begin', {})
    assertRefused(refused, 403, 'FORBIDDEN', /Company register verifies organisations only/)
    const eid = await acme.admin.post('/api/identity/test/begin', {})
    assertRefused(eid, 403, 'FORBIDDEN', /verifies persons only/)
    const offered = async (owner: Pick<Member, 'get'>) =>
      jsonOf<Identity>(await owner.get('/api/identity')).providers.map(({ id }) => id)
    assert.deepEqual(await offered(person), ['test', 'in-person'])
    assert.deepEqual(await offered(acme.admin), ['company', 'in-person'])

    // A flow of the admin's own account stays theirs, also with the parameter.
    const own = await beginIdentity(acme.admin.self, 'test')
    const back = server.authorize(own.redirect)
    const url = new URL(`${back.pathname}${back.search}&organisation=acme`, service.url)
    const { status } = await own.browser.request(url)
    assert.equal(status, 400)
    assert.deepEqual(await verificationsOf(acme), [])
    const fine = await comeBack(own.browser, new URL(back.pathname + back.search, service.url))
    assert.equal(fine.verified, 'test')
    assert.deepEqual(await verificationsOf(acme), [])
  })

  test('a response without a company verifies nothing', async (t) => {
    for (const org_number of [undefined, '', ' ', 12345, 'x'.repeat(257)]) {
      const { server, service } = await startWithBoth(t, { org_number })
      const acme = await createOrganisation(service)
      const { outcome } = await complete(service, server, await begin(acme.admin))
      assert.deepEqual(outcome.code, 'not-verified', String(org_number))
      assert.deepEqual(await verificationsOf(acme), [])
      await service.stop()
    }
  })

  test('only who is an admin at the end completes it', async (t) => {
    const { server, service } = await startWithBoth(t)
    const acme = await createOrganisation(service)
    const { db } = service.operator
    const grace = await acme.addMember('grace', 'admin')
    const begun = await begin(grace)
    await db.write((tx) => endMembership(tx, grace.membership, 'removed', Date.now()))
    const removed = await complete(service, server, begun)
    assert.equal(removed.outcome.code, 'not-admin')

    const linus = await acme.addMember('linus', 'admin')
    const demoted = await begin(linus)
    await db.write((tx) =>
      tx.db
        .updateTable('memberships')
        .set({ role: 'manager' })
        .where('id', '=', linus.membership)
        .execute(),
    )
    assert.equal((await complete(service, server, demoted)).outcome.code, 'not-admin')

    // Somebody else's browser has the flow's cookie.
    const stolen = await begin(acme.admin)
    const stranger = await signInNewcomer(service)
    const browser = new UserAgent(stolen.browser.cookie, stranger.cookie)
    const other = await complete(service, server, { ...stolen, browser })
    assert.equal(other.outcome.code, 'not-admin')
    assert.deepEqual(await verificationsOf(acme), [])
    const actions = await db.read.selectFrom('member_actions').select('operation').execute()
    assert.ok(!actions.some(({ operation }) => operation === 'completeVerification'))
  })

  test('the development provider for organisations verifies one on a developer’s machine', async (t) => {
    const service = await startTestService(t)
    const acme = await createOrganisation(service)
    const answer = await acme.admin.post('/api/identity/dev-organisation/begin', {})
    assert.equal(answer.status, 200, answer.text)
    const browser = new UserAgent(acme.admin.cookie)
    browser.take(answer.headers)
    const redirect = jsonOf<VerificationBegun>(answer).redirect as string
    const url = await logInAtProvider(service, { browser, redirect }, 'Example GmbH')
    const response = await browser.request(url)
    assert.match(response.headers.get('location') ?? '', /verified=dev-organisation/)
    await response.body?.cancel()
    const verified = [{ provider: 'dev-organisation', assurance: 'substantial' }]
    assert.deepEqual(await verificationsOf(acme), verified)
  })
})
