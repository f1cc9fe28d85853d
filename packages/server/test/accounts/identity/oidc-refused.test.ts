import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  beginIdentity,
  comeBack,
  signInNewcomer,
} from '../../../../../test/support/verify-identity.ts'
import { OIDC_CASES } from './oidc-cases.ts'
import { providerAt, startOidcServer } from './oidc-server.ts'
import { startWithProviders } from './with-providers.ts'

test('invalid responses of a provider are rejected, and nothing is recorded', async (t) => {
  const servers = await Promise.all(OIDC_CASES.map(({ wrong }) => startOidcServer(t, wrong)))
  const service = await startWithProviders(
    t,
    servers.map(({ url }, i) => ({ ...providerAt(url, `case-${i}`), ...OIDC_CASES[i]?.settings })),
  )
  const owner = await signInNewcomer(service)
  for (const [i, { name, code = 'invalid-response' }] of OIDC_CASES.entries()) {
    await t.test(name, async () => {
      const { browser, redirect } = await beginIdentity(owner, `case-${i}`)
      const back = servers[i]?.authorize(redirect) as URL
      const outcome = await comeBack(browser, new URL(back.pathname + back.search, service.url))
      assert.deepEqual([outcome.verified, outcome.failed], [null, `case-${i}`])
      assert.equal(outcome.code, code)
      const { read } = service.operator.db
      assert.deepEqual(await read.selectFrom('identity_verifications').selectAll().execute(), [])
      assert.deepEqual(await read.selectFrom('events').selectAll().execute(), [])
    })
  }
})
