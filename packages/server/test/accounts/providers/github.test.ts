import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Value } from 'typebox/value'
import { githubProvider, githubSettings } from '../../../src/accounts/providers/github.ts'
import type { Answer } from '../../http/outbound/support/loopback-server.ts'
import { fails, refuses } from '../../http/outbound/support/refuses.ts'
import { CLIENT_ID, CLIENT_SECRET, startGithub } from './support/github-server.ts'

const NOW = Date.UTC(2026, 0, 2)
const CONTEXT = { ownerId: 'o_1', callbackUrl: 'https://id.example/identity/callback/github' }
const USER = 'GET /user'
const TOKEN = 'POST /login/oauth/access_token'

async function setUp(t: TestContext, secret = CLIENT_SECRET, timeLimitMs = 5_000) {
  const github = await startGithub(t)
  const settings = {
    id: 'github',
    type: 'github' as const,
    clientId: CLIENT_ID,
    clientSecret: { env: 'SECRET' },
    webAddress: github.url,
    apiAddress: github.url,
  }
  const outside = { timeLimitMs, now: () => NOW }
  return { github, settings, provider: githubProvider(settings, { SECRET: secret }, outside) }
}

type SetUp = Awaited<ReturnType<typeof setUp>>

/** Begins and visits GitHub; `change` alters the callback URL. */
async function completed({ github, provider }: SetUp, change: (back: URL) => void = () => {}) {
  const { redirect, state } = await provider.begin(CONTEXT)
  const back = github.authorize(redirect ?? '')
  change(back)
  return provider.complete(CONTEXT, { url: back }, state)
}

test("the subject is the account's id, and the token is revoked", async (t) => {
  const it = await setUp(t)
  assert.deepEqual(await completed(it), {
    subject: '583231',
    issuer: it.github.url,
    assurance: 'low',
    verifiedAt: new Date(NOW),
  })
  assert.equal(it.github.secrets.length, 2)
  assert.equal(it.github.tokens.size, 0)
})

test('each begin has its own state and verifier, and the verifier is not sent', async (t) => {
  const { provider } = await setUp(t)
  const one = await provider.begin(CONTEXT)
  const two = await provider.begin(CONTEXT)
  const values = [one, two].flatMap(({ state }) => Object.values(state))
  assert.equal(new Set(values).size, 4)
  for (const { redirect, state } of [one, two])
    assert.ok(!redirect?.includes((state as { verifier: string }).verifier))
})

test('a callback with a wrong state, two or none is rejected, and no code is exchanged', async (t) => {
  const it = await setUp(t)
  const changes: ((back: URL) => void)[] = [
    (back) => back.searchParams.set('state', 'A'.repeat(43)),
    (back) => back.searchParams.delete('state'),
    (back) => back.searchParams.append('state', 'another'),
  ]
  for (const change of changes)
    await refuses(completed(it, change), /does not belong to a request/, it.github.secrets)
  const { state } = await it.provider.begin(CONTEXT)
  await refuses(
    it.provider.complete(CONTEXT, {}, state),
    /does not belong to a request/,
    it.github.secrets,
  )
  assert.equal(it.github.received.length, 0)
})

test('access_denied is reported to the user', async (t) => {
  const it = await setUp(t)
  const no = (back: URL) => {
    back.searchParams.delete('code')
    back.searchParams.set('error', 'access_denied')
  }
  await refuses(completed(it, no), /did not authorize it/, it.github.secrets)
  await refuses(
    completed(it, (back) => back.searchParams.delete('code')),
    /sent no response/,
    it.github.secrets,
  )
})

test("an error of the app is a failure whose message contains only GitHub's error code", async (t) => {
  const it = await setUp(t)
  const withError = (error: string) =>
    completed(it, (back) => back.searchParams.set('error', error))
  await fails(withError('application_suspended'), /refuses this service: application_suspended/, [])
  await fails(withError('<b>hello</b>'), /refuses this service: unknown error\.$/, ['<b>'])
})

test('errors with status 200 are recognized', async (t) => {
  const it = await setUp(t)
  const error = (code: string): Answer => ({ status: 200, body: { error: code } })
  it.github.answers.set(TOKEN, error('bad_verification_code'))
  await refuses(completed(it), /was used or has expired/, it.github.secrets)
  it.github.answers.set(TOKEN, error('unverified_user_email'))
  await refuses(completed(it), /Confirm your primary e-mail/, it.github.secrets)
  it.github.answers.set(TOKEN, error('redirect_uri_mismatch'))
  await fails(completed(it), /redirect_uri_mismatch/, it.github.secrets)
  it.github.answers.set(TOKEN, {
    status: 200,
    body: { error: 'temporarily_unavailable', access_token: 'gho_x', token_type: 'bearer' },
  })
  await fails(completed(it), /temporarily_unavailable/, it.github.secrets)
})

test('a code is accepted once, and only with its verifier', async (t) => {
  const it = await setUp(t)
  const { redirect, state } = await it.provider.begin(CONTEXT)
  const back = it.github.authorize(redirect ?? '')
  await it.provider.complete(CONTEXT, { url: back }, state)
  await refuses(
    it.provider.complete(CONTEXT, { url: back }, state),
    /was used or has expired/,
    it.github.secrets,
  )
  const stolen = it.github.authorize(redirect ?? '')
  const other = await it.provider.begin(CONTEXT)
  const withOtherVerifier = { ...other.state, state: stolen.searchParams.get('state') }
  await refuses(
    it.provider.complete(CONTEXT, { url: stolen }, withOtherVerifier),
    /was used or has expired/,
    it.github.secrets,
  )
})

test('wrong client credentials are a failure whose message does not contain them', async (t) => {
  const it = await setUp(t, 'wr0ng-5ecret')
  await fails(completed(it), /incorrect_client_credentials/, ['wr0ng-5ecret'])
})

test('responses without a token are failures', async (t) => {
  const it = await setUp(t)
  const answers: Answer[] = [
    { status: 200, body: '<html>Unicorn!</html>' },
    { status: 502, body: '' },
    { status: 200, body: { token_type: 'bearer' } },
    { status: 200, body: { access_token: 'a\nb', token_type: 'bearer' } },
    { status: 200, body: { access_token: 'gho_x', token_type: 'mac' } },
    { status: 200, body: 'access_token=gho_x&token_type=bearer' },
    { status: 200, body: [] },
  ]
  for (const answer of answers) {
    it.github.answers.set(TOKEN, answer)
    await fails(completed(it), /answered without a token/, it.github.secrets)
  }
})

test('a user response without an id is a failure, and the token is still revoked', async (t) => {
  const it = await setUp(t)
  const answers: Answer[] = [
    { status: 200, body: { login: 'octocat' } },
    { status: 200, body: { login: 'octocat', id: '583231' } },
    { status: 200, body: { login: 'octocat', id: 0 } },
    { status: 200, body: { login: 'octocat', id: 1.5 } },
    { status: 200, body: '{"id":9007199254740993}' },
    { status: 200, body: 'null' },
    { status: 200, body: '{"id":583231' },
    { status: 403, body: { id: 583231, message: 'API rate limit exceeded' } },
    { status: 500, body: 'oops' },
  ]
  for (const answer of answers) {
    it.github.answers.set(USER, answer)
    await fails(completed(it), /does not return your account/, it.github.secrets)
  }
  assert.equal(it.github.secrets.length, answers.length + 1)
  assert.equal(it.github.tokens.size, 0)
})

test('if the token cannot be revoked, the account is still verified', async (t) => {
  const it = await setUp(t)
  it.github.answers.set(`DELETE /applications/${CLIENT_ID}/token`, { status: 503, body: 'no' })
  assert.equal((await completed(it)).subject, '583231')
})

test('timeouts, redirects and oversized responses are failures', async (t) => {
  const impatient = await setUp(t, CLIENT_SECRET, 300)
  impatient.github.answers.set(TOKEN, 'never')
  await fails(completed(impatient), /does not answer in time/, impatient.github.secrets)
  const it = await setUp(t)
  it.github.answers.set(TOKEN, { status: 307, headers: { location: `${it.github.url}/elsewhere` } })
  await fails(completed(it), /answers with a redirect/, it.github.secrets)
  assert.ok(it.github.received.every(({ path }) => path !== '/elsewhere'))
  it.github.answers.set(TOKEN, { status: 200, body: { access_token: 'x'.repeat(65_536) } })
  await fails(completed(it), /answers with too much/, it.github.secrets)
})

test('an unreachable provider is a failure', async (t) => {
  const it = await setUp(t)
  const settings = { ...it.settings, webAddress: 'http://127.0.0.1:1' }
  const provider = githubProvider(settings, { SECRET: CLIENT_SECRET })
  const { redirect, state } = await provider.begin(CONTEXT)
  const url = new URL(`${CONTEXT.callbackUrl}?code=1`)
  url.searchParams.set('state', new URL(redirect ?? '').searchParams.get('state') ?? '')
  await fails(provider.complete(CONTEXT, { url }, state), /cannot be reached/, [CLIENT_SECRET])
})

test('check distinguishes right credentials from wrong ones', async (t) => {
  const right = await setUp(t)
  assert.deepEqual(await right.provider.check(), [
    { name: 'client credentials', ok: true, detail: 'accepted' },
    { name: 'API', ok: true, detail: `${right.github.url} answers with status 401` },
  ])
  const wrong = await setUp(t, 'wr0ng-5ecret')
  const [credentials] = await wrong.provider.check()
  assert.deepEqual(credentials, {
    name: 'client credentials',
    ok: false,
    detail: 'not accepted: incorrect_client_credentials',
  })
  wrong.github.answers.set(TOKEN, { status: 404, body: { error: 'Not Found' } })
  wrong.github.answers.set(USER, { status: 200, body: 'a captive portal' })
  const checks = await wrong.provider.check()
  assert.deepEqual(
    checks.map(({ ok }) => ok),
    [false, false],
  )
})

test('settings are strict, and addresses are https or loopback', async (t) => {
  const { settings } = await setUp(t)
  const schema = githubSettings()
  assert.ok(Value.Check(schema, settings))
  assert.ok(Value.Check(schema, { ...settings, apiAddress: 'https://ghe.example/api/v3' }))
  const wrong = [
    { ...settings, apiAddress: 'http://ghe.example/api/v3' },
    { ...settings, apiAddress: 'https://user:pass@ghe.example' },
    { ...settings, apiAddress: 'https://ghe.example/' },
    { ...settings, apiAddress: 'http://localhost.evil.example' },
    { ...settings, clientSecret: CLIENT_SECRET },
    { ...settings, clientId: 'a/../b' },
    { ...settings, scope: 'repo' },
    { ...settings, id: 'Git Hub' },
  ]
  for (const each of wrong) assert.ok(!Value.Check(schema, each), JSON.stringify(each))
  assert.throws(() => githubProvider(settings, {}), { name: 'SecretError' })
})
