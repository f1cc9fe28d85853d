import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countersignd, startServiceProcess, testEnv } from '../../../../../test/support/service.ts'
import { CLIENT_SECRET, providerAt, startOidcServer } from '../../accounts/identity/oidc-server.ts'
import { providersFile } from '../../accounts/identity/with-providers.ts'

type Test = Parameters<typeof testEnv>[0]

async function check(t: Test, providers: readonly unknown[], env: Record<string, string> = {}) {
  const settings = { IDENTITY_PROVIDERS: providersFile(t, providers), CLIENT_SECRET, ...env }
  return countersignd(await testEnv(t, settings), 'provider', 'check', 'test', '--json')
}

test('provider list prints the configured providers', async (t) => {
  const text = await countersignd(await testEnv(t), 'provider', 'list')
  assert.equal(text.code, 0, text.stderr)
  assert.equal(text.stderr, '')
  assert.match(text.stdout, /^ID +LABEL +KIND +ASSURANCE +VALID +SIGN-IN\n/)
  assert.match(
    text.stdout,
    /^dev-low +Development, low assurance +development +low +30 days +yes$/m,
  )
  const env = { IDENTITY_PROVIDERS: providersFile(t, []), BASE_URL: 'https://certs.example' }
  const json = await countersignd(await testEnv(t, env), 'provider', 'list', '--json')
  assert.deepEqual(JSON.parse(json.stdout), [
    {
      id: 'in-person',
      label: 'In person',
      kind: 'in-person',
      assurance: null,
      validForDays: null,
      signIn: false,
    },
  ])
})

test('provider check contacts the provider and prints what works', async (t) => {
  const server = await startOidcServer(t)
  const { code, stdout } = await check(t, [providerAt(server.url)])
  assert.equal(code, 0, stdout)
  const { provider, ok, checks } = JSON.parse(stdout)
  assert.deepEqual([provider, ok], ['test', true])
  assert.deepEqual(
    checks.map(({ name, detail }: { name: string; detail: string }) => `${name}: ${detail}`),
    [
      `discovery: ${server.url} describes itself`,
      'keys: 1 to verify ID tokens with',
      'pushed requests: offered, and used',
      'acr: acr must be one of urn:test:substantial',
      'client authentication: accepted',
    ],
  )
})

test('a development provider passes its check', async (t) => {
  const { code, stdout } = await countersignd(await testEnv(t), 'provider', 'check', 'dev-high')
  assert.equal(code, 0, stdout)
  assert.match(stdout, /^ok +client authentication +accepted$/m)
})

test('failed checks are printed without secrets: exit 1', async (t) => {
  const server = await startOidcServer(t)
  const wrong = await check(t, [providerAt(server.url)], { CLIENT_SECRET: 'a-wrong-secret' })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stdout, /"name":"client authentication","ok":false/)
  assert.doesNotMatch(wrong.stdout + wrong.stderr, /a-wrong-secret/)

  const keyless = await startOidcServer(t, { keys: () => ({ status: 503, body: {} }) })
  const second = await check(t, [providerAt(keyless.url)])
  assert.equal(second.code, 1)
  assert.match(second.stdout, /the keys answer 503/)

  const gone = await check(t, [providerAt('http://127.0.0.1:1')])
  assert.equal(gone.code, 1)
  assert.match(gone.stdout, /"name":"discovery","ok":false/)
})

test('an unknown provider: exit 3', async (t) => {
  const { code, stderr } = await countersignd(await testEnv(t), 'provider', 'check', 'nobody')
  assert.equal(code, 3)
  assert.match(stderr, /provider list/)
})

for (const command of [['provider', 'list'], ['serve']]) {
  test(`countersignd ${command.join(' ')} with a file that is wrong: every mistake, no secret, exit 2`, async (t) => {
    const secret = 'a-secret-in-the-wrong-place'
    const providers = [{ ...providerAt('https://x.example'), clientSecret: secret }, 7]
    const env = await testEnv(t, { IDENTITY_PROVIDERS: providersFile(t, providers) })
    const { code, stdout, stderr } = await countersignd(env, ...command)
    assert.equal(code, 2, stdout)
    assert.match(stderr, /^countersignd: Invalid settings:\n/)
    assert.match(
      stderr,
      /IDENTITY_PROVIDERS, providers\[0\] \(test\): clientSecret must be a reference/,
    )
    assert.match(stderr, /IDENTITY_PROVIDERS, providers\[1\]: must be an object/)
    assert.doesNotMatch(stdout + stderr, new RegExp(secret))
  })
}

test('at startup the log warns about development providers, and nothing else is printed', async (t) => {
  const service = await startServiceProcess(t, { LOG_LEVEL: 'info' })
  await service.stop()
  // The test asks whether it is ready before it is, and that is told.
  const asked = /"msg":"Starting or shutting down\."/
  const lines = service
    .output()
    .trim()
    .split('\n')
    .filter((line) => !asked.test(line))
  for (const line of lines) assert.ok(line.startsWith('{"level":30,'), line)
  assert.ok(lines.some((line) => line.includes('Identity providers for development')))
})

test('at startup the log warns if there are no providers and the service is not on loopback', async (t) => {
  const service = await startServiceProcess(t, {
    LOG_LEVEL: 'info',
    BASE_URL: 'https://certs.example',
  })
  await service.stop()
  assert.match(service.output(), /No identity provider is configured/)
  assert.doesNotMatch(service.output(), /for development/)
})
