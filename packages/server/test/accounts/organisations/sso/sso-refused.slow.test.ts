import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOrganisation } from '../../../../../../test/support/organisations.ts'
import { startTestService } from '../../../../../../test/support/service.ts'
import { OIDC_CASES } from '../../identity/oidc-cases.ts'
import { codeIn, connectionTo, givePasskey, hostsOf, signInBySso, startIdp } from './sso-world.ts'

/** Already found when the organisation connects. */
const FOUND_BEFORE = ['no keys', 'an empty list of keys']

test('invalid responses of an identity provider are refused, and nobody is signed in', async (t) => {
  const cases = OIDC_CASES.filter(({ bySettings }) => bySettings === undefined)
  const idps = await Promise.all(cases.map(({ wrong }) => startIdp(t, wrong)))
  const service = await startTestService(t, { SSO_PRIVATE_HOSTS: hostsOf(...idps) })
  const acme = await createOrganisation(service)
  await givePasskey(service, acme.admin.ownerId)
  for (const [i, { name, code = 'invalid-response' }] of cases.entries()) {
    await t.test(name, async () => {
      const idp = idps[i] as (typeof idps)[number]
      const connected = await acme.admin.send('PUT', '/api/account/sso', connectionTo(idp.url))
      assert.equal(connected.status, FOUND_BEFORE.includes(name) ? 400 : 200, connected.text)
      if (connected.status !== 200) return
      const { visitor, page } = await signInBySso({ service, idp }, { groups: ['leads'] })
      assert.equal(codeIn(page), code)
      assert.equal((await visitor.get('/api/account/agents')).status, 401)
      const { read } = service.operator.db
      const managed = read.selectFrom('owners').selectAll().where('kind', '=', 'member')
      assert.deepEqual(await managed.execute(), [])
    })
  }
})
