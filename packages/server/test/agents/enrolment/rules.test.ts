import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AccountExport,
  API_KEY_SCOPES,
  type CreatedApiKey,
  type EnrolmentRule,
  type EnrolmentTest,
} from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  enrol,
  enrolmentBody,
  newPlatform,
  ruleFor,
  SUBJECT,
} from '../../../../../test/support/platform.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { HOUR_MS, TestClock } from '../../../../../test/support/sign-in-by.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { didIn, enrolBy, newOwner, newRule, RULES } from './with-rules.ts'

const GITHUB = 'https://token.actions.githubusercontent.com'
const SPIFFE = { issuer: null, trustDomain: 'example.org' }

test('a rule that would admit strangers is refused', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const [key = {}] = platform.jwks.keys
  const github = (match: object) => ({ issuer: GITHUB, match })
  const gitlab = (match: object) => ({ issuer: 'https://gitlab.com', match })
  const google = (match: object) => ({ issuer: 'https://accounts.google.com', match })
  const cases: readonly [object, RegExp][] = [
    [github({ '/sub': 'repo:a/b:ref:refs/heads/main' }), /repository_id/],
    [github({ '/repository_id': '1' }), /environment/],
    [gitlab({ '/project_path': 'a/b', '/ref_protected': 'true' }), /project_id/],
    [gitlab({ '/project_id': '1', '/ref_protected': 'false' }), /ref_protected/],
    [google({ '/email': 'a@example.org' }), /number of the account/],
    [{ ...SPIFFE, match: { '/sub': 'spiffe://example.org.evil/a' } }, /spiffe:\/\/example.org\//],
    [{ ...SPIFFE, match: { '/iss': 'x' } }, /checked for every token/],
    [{ ...SPIFFE, issuer: GITHUB, match: { '/sub': 'spiffe://example.org/a' } }, /repository_id/],
    [{ issuer: null }, /issuer/],
    [{ match: { sub: SUBJECT } }, /JSON Pointer/],
    [{ agentIdClaim: '/sub' }, /exactly one/],
    [{ agentId: null }, /exactly one/],
    [{ agentId: null, agentIdClaim: '/aud' }, /checked for every token/],
    [{ keys: { jwks: { keys: [] } } }, /1 to 20/],
    [{ keys: { jwks: { keys: [{ ...key, d: 'AQAB' }] } } }, /public keys only/],
    [{ keys: { jwks: { keys: [{ ...key, use: 'enc' }] } } }, /None of the keys/],
    [{ keys: { jwks: { keys: [{ ...key, x: 'y'.repeat(13_000) }] } } }, /12 KiB/],
    [{ keys: { discovery: true, jwks: platform.jwks } }, /\S/],
    [{ maxLive: 1001 }, /\S/],
    [{ unseenAfterSeconds: 60 }, /\S/],
    [{ maxTokenSeconds: 86_401 }, /\S/],
    [{ profile: { displayName: 'Verified by Countersign', description: null } }, /\S/],
  ]
  for (const [more, message] of cases) {
    const answer = await owner.post(RULES, ruleFor(platform, more))
    assertRefused(answer, 400, 'VALIDATION_ERROR', message)
  }
  const sound = github({ '/repository_id': '1', '/ref': 'refs/heads/main' })
  await newRule(owner, ruleFor(platform, sound))
})

test('tokens of pull requests, and of pods without a pod, need what the rule pins', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform(GITHUB)
  const match = { '/repository_id': '1', '/ref': 'refs/heads/main' }
  const rule = await newRule(owner, ruleFor(platform, { match }))
  const claims = { aud: rule.audience, repository_id: '1', ref: 'refs/heads/main' }
  const send = async (more: object) =>
    enrol(service, enrolmentBody(service, rule.id, await platform.token({ ...claims, ...more })))
  for (const event_name of ['pull_request_target', 'workflow_run']) {
    assertRefused(await send({ event_name }), 403, 'FORBIDDEN', /event_name.*\(claim\)/)
  }
  assertRefused(await send({ repository_id: '2' }), 403, 'FORBIDDEN', /repository_id/)
  didIn(await send({ event_name: 'push' }))
})

test('rules change within bounds, pause, resume and are deleted', async (t) => {
  const clock = new TestClock()
  const service = await startTestService(t, {}, clock.now)
  const [owner, stranger] = [await newOwner(service), await newOwner(service)]
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform))
  const at = `${RULES}/${rule.id}`
  const changed = await owner.send('PATCH', at, { name: 'pods', maxLive: 7 })
  assert.equal(changed.status, 200, changed.text)
  const { name, maxLive, match } = jsonOf<EnrolmentRule>(changed)
  assert.deepEqual([name, maxLive, match], ['pods', 7, { '/sub': SUBJECT }])
  const fixed = { issuer: 'https://x.example', binding: 'key', agentId: 'x', trustDomain: 'x' }
  for (const [member, value] of Object.entries(fixed)) {
    const answer = await owner.send('PATCH', at, { [member]: value })
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
  for (const action of ['pause', 'resume', 'end']) {
    assertRefused(await stranger.post(`${at}/${action}`), 404, 'NOT_FOUND', /no enrolment rule/)
  }
  assertRefused(await stranger.get(at), 404, 'NOT_FOUND')
  assertRefused(await stranger.send('DELETE', at), 404, 'NOT_FOUND')
  assertRefused(await stranger.send('PATCH', at, { name: 'x' }), 404, 'NOT_FOUND')
  const key = newKey()
  const did = didIn(await enrolBy(service, platform, rule, key, clock.now))
  assert.equal((await owner.post(`${at}/pause`)).status, 200)
  const paused = await enrolBy(service, platform, rule, key, clock.now)
  assertRefused(paused, 403, 'FORBIDDEN', /paused/)
  assert.equal((await owner.post(`${at}/resume`)).status, 200)
  assert.equal(didIn(await enrolBy(service, platform, rule, key, clock.now), 200), did)
  const exported = jsonOf<AccountExport>(await owner.get('/api/account/export'))
  assert.deepEqual(
    exported.enrolmentRules.map(({ id, state }) => [id, state]),
    [[rule.id, 'active']],
  )
  assert.equal(exported.agents[0]?.enrolment?.rule.id, rule.id)
  assert.equal((await owner.send('DELETE', at)).status, 204)
  assertRefused(await owner.get(at), 404, 'NOT_FOUND')
  const gone = await enrolBy(service, platform, rule, key, clock.now)
  assertRefused(gone, 404, 'NOT_FOUND', /no enrolment rule/)
})

test('a rule that has enrolled nobody for 30 days is forgotten until it is resumed', async (t) => {
  const clock = new TestClock()
  const service = await startTestService(t, {}, clock.now)
  const owner = await newOwner(service)
  const platform = newPlatform(undefined, clock.now)
  const rule = await newRule(owner, ruleFor(platform))
  clock.advance(29 * 24)
  const key = newKey()
  didIn(await enrolBy(service, platform, rule, key, clock.now))
  clock.advance(30 * 24 + 1)
  const forgotten = await enrolBy(service, platform, rule, newKey(), clock.now)
  assertRefused(forgotten, 403, 'FORBIDDEN', /30 days/)
  const now = await signIn(service, owner.ownerId, clock.now())
  assert.equal((await now.post(`${RULES}/${rule.id}/resume`)).status, 200)
  didIn(await enrolBy(service, platform, rule, newKey(), clock.now))
})

test('creating and widening needs a recent sign-in, and no API key can', async (t) => {
  const service = await startTestService(t)
  const ownerId = await service.operator.addVerifiedOwner()
  const owner = await signIn(service, ownerId)
  const old = await signIn(service, ownerId, Date.now() - 2 * HOUR_MS)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const at = `${RULES}/${rule.id}`
  const { secret } = jsonOf<CreatedApiKey>(
    await owner.post('/api/account/api-keys', { name: 'CI', scopes: [...API_KEY_SCOPES] }),
  )
  const byKey = (method: string, target: string, body?: object) =>
    ask(service, target, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  const widening = [
    ['POST', RULES, ruleFor(platform)],
    ['PATCH', at, { name: 'x' }],
    ['POST', `${at}/resume`, {}],
  ] as const
  for (const [method, target, body] of widening) {
    assertRefused(await old.send(method, target, body), 403, 'RECENT_SIGN_IN_REQUIRED')
    assertRefused(await byKey(method, target, body), 403, 'FORBIDDEN')
  }
  assertRefused(await old.send('DELETE', at), 403, 'RECENT_SIGN_IN_REQUIRED')
  assertRefused(await byKey('POST', `${at}/test`, { token: 'x' }), 403, 'FORBIDDEN')
  assert.equal((await byKey('GET', RULES)).status, 200)
  assert.equal((await byKey('POST', `${at}/pause`, {})).status, 200)
  assert.equal((await byKey('POST', `${at}/end`, {})).status, 202)
  for (let i = 1; i < 20; i++) await newRule(owner, ruleFor(platform, { name: `rule ${i}` }))
  assertRefused(await owner.post(RULES, ruleFor(platform)), 409, 'CONFLICT', /20/)
})

test('a token is tested check by check, and nothing is stored', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform, { binding: 'key' }))
  const run = async (token: string) => {
    const answer = await owner.post(`${RULES}/${rule.id}/test`, { token })
    assert.equal(answer.status, 200, answer.text)
    return jsonOf<EnrolmentTest>(answer)
  }
  const aud = `${rule.audience}/${'x'.repeat(43)}`
  const good = await run(await platform.token({ aud, sub: SUBJECT }))
  assert.ok(good.checks.every(({ ok }) => ok === true))
  assert.equal(good.claims?.sub, SUBJECT)
  const bad = await run(await platform.token({ aud, sub: 'other' }))
  assert.deepEqual(
    bad.checks.filter(({ ok }) => ok !== true).map(({ check }) => check),
    ['claim'],
  )
  const broken = await run('no token')
  assert.deepEqual([broken.checks[0]?.ok, broken.claims], [false, null])
  const { live, lastRefusal } = jsonOf<EnrolmentRule>(await owner.get(`${RULES}/${rule.id}`))
  assert.deepEqual([live, lastRefusal], [0, null])
})

test('the log tells what the workload signed, and never its token', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const token = await platform.token({ aud: rule.audience, sub: SUBJECT })
  const body = enrolmentBody(service, rule.id, token)
  didIn(await enrol(service, body))
  const { db } = service.operator
  const queued = await db.read.selectFrom('log_queue').selectAll().execute()
  const logged = await db.read.selectFrom('log_entries').selectAll().execute()
  const [evidence] = [...queued, ...logged].flatMap((row) => row.evidence ?? [])
  const said = JSON.parse(String(evidence)) as Record<string, unknown>
  const members = ['agentId', 'issuedAt', 'publicKey', 'rule', 'service', 'signature', 'tokenHash']
  assert.deepEqual(Object.keys(said).toSorted(), members)
  assert.equal(said.signature, body.signature)
  for (const table of ['log_queue', 'log_entries', 'enrolments', 'enrolment_tokens'] as const) {
    const rows = await db.read.selectFrom(table).selectAll().execute()
    assert.ok(!JSON.stringify(rows).includes(token.split('.')[1] as string), table)
  }
})
