import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  openOperator,
  startServiceProcess,
  type TestService,
} from '../../../../../test/support/service.ts'
import {
  beginIdentity,
  comeBack,
  signInNewcomer,
} from '../../../../../test/support/verify-identity.ts'
import { readSettings } from '../../../src/base/config.ts'
import {
  CLIENT_SECRET,
  type Misbehaviour,
  newKeys,
  providerAt,
  signed,
  startOidcServer,
} from './oidc-server.ts'
import { providersFile } from './with-providers.ts'

const CASES: Readonly<Record<string, { wrong: Misbehaviour; level: number; says: RegExp }>> = {
  'an answer that cannot be believed': {
    wrong: { sign: (claims) => signed(claims, newKeys().privateKey) },
    level: 40,
    says: /signature verification failed/,
  },
  'a provider that fails': {
    wrong: { token: () => ({ status: 500, body: { secret: 'of-the-provider' } }) },
    level: 50,
    says: /unexpected HTTP response status code/,
  },
}

for (const [name, { wrong, level, says }] of Object.entries(CASES)) {
  test(`the log reports ${name}, with the request id and without secrets`, async (t) => {
    const server = await startOidcServer(t, wrong)
    const child = await startServiceProcess(t, {
      LOG_LEVEL: 'info',
      IDENTITY_PROVIDERS: providersFile(t, [providerAt(server.url)]),
      CLIENT_SECRET,
    })
    const settings = readSettings(child.env)
    const operator = await openOperator(settings)
    t.after(() => operator.close())
    const service: TestService = {
      ...child,
      settings,
      operator,
      tick: () => undefined,
      stop: async () => undefined,
    }
    const owner = await signInNewcomer(service)
    const { browser, redirect } = await beginIdentity(owner, 'test')
    const back = server.authorize(redirect)
    const outcome = await comeBack(browser, new URL(back.pathname + back.search, service.url))
    await child.stop()

    const lines = child.output().trim().split('\n')
    const line = lines.find((each) => each.includes(outcome.request as string)) ?? ''
    assert.equal(JSON.parse(line).level, level, line)
    assert.equal(JSON.parse(line).provider, 'test')
    assert.match(line, says)
    const secrets = [
      CLIENT_SECRET,
      'of-the-provider',
      'an-access-token',
      'subject-of-the-test',
      'eyJ',
      back.searchParams.get('code') as string,
      back.searchParams.get('state') as string,
    ]
    for (const secret of secrets) assert.ok(!child.output().includes(secret), `${secret}: ${line}`)
  })
}
