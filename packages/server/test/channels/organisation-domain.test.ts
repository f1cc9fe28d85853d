import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Card, Identity, Notifications, OrganisationDomain } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { createOrganisation } from '../../../../test/support/organisations.ts'
import { claimAgent } from '../../../../test/support/service.ts'
import { DOMAIN, NAME, newProver, startChannelFixture } from './support/channel-fixture.ts'
import {
  checkDomain,
  DOMAIN_PATH,
  newDomainHolder,
  setDomain,
} from './support/organisation-fixture.ts'

const FILE = '/.well-known/svc-challenge.txt'

suite('the domain of an organisation', () => {
  test('a TXT record proves it, and the public sees the domain and no member', async (t) => {
    const fixture = await startChannelFixture(t, { resolvers: 3 })
    const { service } = fixture
    const acme = await createOrganisation(service)
    const { admin } = acme
    assert.deepEqual(jsonOf<OrganisationDomain>(await admin.get(DOMAIN_PATH)), {
      domain: null,
      line: null,
      record: null,
      url: null,
      provenAt: null,
      expiresAt: null,
    })
    assertRefused(await admin.post(`${DOMAIN_PATH}/check`), 404, 'NOT_FOUND')

    const { line, ...set } = await setDomain(admin, ` HTTPS://${DOMAIN.toUpperCase()}/ `)
    assert.deepEqual(set, {
      domain: DOMAIN,
      record: NAME,
      url: `https://${DOMAIN}${FILE}`,
      provenAt: null,
      expiresAt: null,
    })
    const form = /^token=[1-9A-HJ-NP-Za-km-z]{22} organisation=org_[1-9A-HJ-NP-Za-km-z]{12} expiry=/
    assert.match(line ?? '', form)
    assert.equal((await setDomain(admin)).line, line, 'an open token stays')

    const missing = await checkDomain(admin)
    assert.deepEqual([missing.check.outcome, missing.provenAt], ['absent', null])
    fixture.txt(NAME, 'v=spf1 -all', line as string)
    const proven = await checkDomain(admin)
    assert.equal(proven.check.outcome, 'proven')
    for (const { detail } of proven.check.perspectives) {
      assert.equal(detail, `A TXT record at ${NAME} holds the token of this organisation.`)
    }
    const days = (Date.parse(proven.expiresAt as string) - Date.now()) / 86_400_000
    assert.ok(days > 12.9 && days <= 14, String(days))
    assert.equal(proven.line, line, 'it has to stay')

    const { providers, verifications } = jsonOf<Identity>(await admin.get('/api/identity'))
    assert.ok(providers.every(({ id }) => !['dev-low', 'dev-high'].includes(id)))
    assert.deepEqual(
      verifications.map(({ provider, label, assurance, publishedName }) => [
        ...[provider, label, assurance, publishedName],
      ]),
      [['organisation-domain', 'Domain', 'low', DOMAIN]],
    )
    const did = await claimAgent(service, acme.id)
    const card = jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
    assert.equal(card.ownerKind, 'organisation')
    assert.deepEqual(card.ownerName?.verified?.name, DOMAIN)
    assert.equal(card.verification?.label, 'Domain')
    assert.doesNotMatch(JSON.stringify(card), /acme-admin|mb_|admin/)

    const { notifications } = jsonOf<Notifications>(await admin.get('/api/account/notifications'))
    const access = notifications.filter(({ kind }) => kind === 'access_changed')
    assert.deepEqual(
      access.map(({ title }) => title),
      [`The domain ${DOMAIN} was set for your organisation`],
    )
  })

  test('a file on the web server proves it, beside lines for agents', async (t) => {
    const fixture = await startChannelFixture(t)
    const { admin, line } = await newDomainHolder(fixture)
    fixture.site.serve(FILE, { body: `token=x did=did:svc:main:abc expiry=y\n${line}\n` })
    const { check } = await checkDomain(admin)
    assert.equal(check.outcome, 'proven', JSON.stringify(check))
  })

  test('a line for another organisation, or for an agent, proves nothing', async (t) => {
    const fixture = await startChannelFixture(t)
    const { admin, line } = await newDomainHolder(fixture)
    const prover = await newProver(fixture)
    const cases = [
      [line.replace(/org_.{12}/, 'org_111111111111'), /but for another organisation/],
      [
        line.replace(/organisation=\S+/, `did=${prover.did}`),
        /no line such as token=… organisation/,
      ],
      [line.replace(/expiry=.*/, 'expiry=2020-01-01T00:00:00Z'), /an expiry that has passed/],
      [line.replace(/token=\S+/, 'token=1111111111111111111111'), /another token for this organ/],
    ] as const
    for (const [record, words] of cases) {
      fixture.txt(NAME, record)
      const { check, provenAt } = await checkDomain(admin)
      assert.deepEqual([check.outcome, provenAt], ['absent', null])
      assert.match(check.perspectives[0]?.detail ?? '', words)
    }
  })

  test('one domain verifies one organisation, until it is removed', async (t) => {
    const fixture = await startChannelFixture(t)
    const first = await newDomainHolder(fixture, 'acme')
    const second = await newDomainHolder(fixture, 'other')
    fixture.txt(NAME, first.line, second.line)
    await checkDomain(first.admin)
    const refused = await second.admin.post(`${DOMAIN_PATH}/check`)
    assertRefused(refused, 409, 'CONFLICT', /Another organisation has proven/)
    assert.equal(jsonOf<OrganisationDomain>(await second.admin.get(DOMAIN_PATH)).provenAt, null)

    assert.equal((await first.admin.send('DELETE', DOMAIN_PATH)).status, 204)
    assertRefused(await first.admin.send('DELETE', DOMAIN_PATH), 404, 'NOT_FOUND')
    const { verifications } = jsonOf<Identity>(await first.admin.get('/api/identity'))
    assert.deepEqual(verifications, [])
    assert.equal((await checkDomain(second.admin)).check.outcome, 'proven')
  })

  test('another domain replaces it: its own proof counts until then', async (t) => {
    const other = 'shop.example.com'
    const fixture = await startChannelFixture(t, { names: [DOMAIN, other] })
    const { admin, line } = await newDomainHolder(fixture)
    fixture.txt(NAME, line)
    await checkDomain(admin)
    const { line: next, provenAt } = await setDomain(admin, other)
    assert.equal(provenAt, null)
    const named = async () =>
      jsonOf<Identity>(await admin.get('/api/identity')).verifications.map(
        ({ publishedName }) => publishedName,
      )
    assert.deepEqual(await named(), [DOMAIN])
    fixture.txt(`_svc-challenge.${other}`, next as string)
    assert.equal((await checkDomain(admin)).check.outcome, 'proven')
    assert.deepEqual(await named(), [other])
  })

  test('what is no domain of the public internet is refused, and no private address is asked', async (t) => {
    const fixture = await startChannelFixture(t)
    const { admin } = await createOrganisation(fixture.service)
    for (const domain of ['127.0.0.1', 'localhost', '[::1]', 'com', 'a.internal', 'a b.com', '']) {
      assertRefused(await admin.send('PUT', DOMAIN_PATH, { domain }), 400, 'VALIDATION_ERROR')
    }
    const { line } = await setDomain(admin)
    fixture.site.serve(FILE, { body: line as string })
    fixture.dns[0]?.set(DOMAIN, 'A', ['169.254.169.254'])
    const { check, provenAt } = await checkDomain(admin)
    assert.deepEqual([check.outcome, provenAt], ['unreachable', null])
    assert.match(check.perspectives[0]?.detail ?? '', /resolves to an address that is not/)
    assert.deepEqual(fixture.site.requests, [])
  })

  test('it is for organisations, and set by admins only', async (t) => {
    const fixture = await startChannelFixture(t)
    const acme = await createOrganisation(fixture.service)
    const person = acme.admin.self
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const body = method === 'PUT' ? { domain: DOMAIN } : undefined
      assertRefused(await person.send(method, DOMAIN_PATH, body), 400, 'VALIDATION_ERROR')
    }
    const begun = await person.post('/api/identity/organisation-domain/begin')
    assertRefused(begun, 403, 'FORBIDDEN', /verifies organisations only/)

    const manager = await acme.addMember('grace', 'manager')
    assert.equal((await manager.get(DOMAIN_PATH)).status, 200)
    assertRefused(await manager.send('PUT', DOMAIN_PATH, { domain: DOMAIN }), 403, 'FORBIDDEN')
    assertRefused(await manager.post(`${DOMAIN_PATH}/check`), 403, 'FORBIDDEN')
    const viewer = await acme.addMember('vera', 'viewer')
    assertRefused(await viewer.get(DOMAIN_PATH), 403, 'FORBIDDEN')
  })
})
