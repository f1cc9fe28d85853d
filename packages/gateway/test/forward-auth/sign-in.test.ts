import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Agent, type NonceStore, newKey, Registry } from '@countersign/sdk'
import { jsonOf } from '../../../../test/support/answer.ts'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { OpenApi } from '../../../../test/support/openapi.ts'
import { PATIENT_CLIENT } from '../../../../test/support/patient-client.ts'
import {
  ROOT,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../test/support/service.ts'
import { readConfig } from '../../src/forward-auth/config.ts'
import { openLog } from '../../src/forward-auth/log.ts'
import { ForwardAuth } from '../../src/forward-auth/server.ts'
import { PolicyError } from '../../src/policy/policy-error.ts'
import { olderNonceStore } from '../support/signing.ts'

const SHOP = 'https://shop.example'
const BANK = 'https://bank.example'
const PATH = '/agent-sign-in'
const AT_SHOP = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'shop.example' }
const JSON_TYPE = { 'content-type': 'application/json' }

const openApi = new OpenApi(
  JSON.parse(readFileSync(join(ROOT, 'docs/sessions.openapi.json'), 'utf8')),
)
const cleanup = fileCleanup()
let service: TestService
let agent: Agent
let did: string

before(async () => {
  service = await startTestService(cleanup)
  agent = new Agent({ registry: new Registry(service.url, PATIENT_CLIENT), signer: await newKey() })
  const owner = await service.operator.addVerifiedOwner()
  did = (await agent.claim(await service.operator.issueToken(owner))).did
})
const secretFile = () => {
  const file = join(tempDir(cleanup), 'secret')
  writeFileSync(file, `${'s'.repeat(32)}\n`)
  return file
}

const configText = (settings: object) =>
  JSON.stringify({
    service: service.url,
    timeoutMs: 30_000,
    port: 0,
    logLevel: 'silent',
    drainSeconds: 0,
    audiences: [SHOP, BANK],
    signInPath: PATH,
    policy: { requireProof: true },
    ...settings,
  })
const config = (settings: object = {}, env: Record<string, string> = {}) =>
  readConfig(configText(settings), env)

async function startGateway(settings: object = {}, usedChallenges?: NonceStore) {
  const text = configText({ sessionSecretFile: secretFile(), ...settings })
  const own = readConfig(text, {})
  const read = usedChallenges ? readConfig(text, {}, { ...own, usedChallenges }) : own
  const server = new ForwardAuth(
    read,
    openLog('silent', () => undefined),
  )
  cleanup.after(() => server.stop())
  return { server, url: `http://127.0.0.1:${await server.listen()}` }
}

const get = (url: string, headers: object = AT_SHOP) =>
  fetch(url + PATH, { headers: { ...headers } })
const challengeAt = async (url: string, headers?: object) =>
  String(jsonOf(await answerOf(get(url, headers))).challenge)
const post = (url: string, body: string | object, headers: object = AT_SHOP) =>
  fetch(url + PATH, {
    method: 'POST',
    headers: { ...JSON_TYPE, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const answerOf = async (sent: Promise<Response>) => {
  const response = await sent
  const { status, headers } = response
  const answer = { status, headers, text: await response.text() }
  // Of two operations with the same refusals, only one can be meant here.
  const isChallenge = answer.text.includes('"challenge"')
  openApi.assertConforms(isChallenge ? 'GET' : 'POST', PATH, answer)
  return answer
}
const codeOf = async (response: Promise<Response>) => {
  const answer = await answerOf(response)
  return [answer.status, (jsonOf(answer).error as { code: string }).code]
}
const ask = (url: string, headers: object) =>
  fetch(`${url}/auth/forward`, {
    headers: { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/x', ...AT_SHOP, ...headers },
  })

test('an agent signs in through the proxy, and its session is proof at that site only', async () => {
  const { url } = await startGateway()
  const refused = await ask(url, { ServiceID: did })
  const schemes = `ServiceID sign_in="${PATH}", Bearer`
  assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [401, schemes])
  assert.match(refused.headers.get('accept-signature') ?? '', /^sig1=/)
  const answer = await agent.answer(await challengeAt(url), { audience: SHOP })
  const signedIn = await answerOf(post(url, answer))
  const { token, did: named, expiresAt } = jsonOf(signedIn)
  assert.deepEqual([signedIn.status, named], [200, did])
  assert.ok(Date.parse(String(expiresAt)) > Date.now())
  assert.equal(signedIn.headers.get('cache-control'), 'no-store')
  const headers = { authorization: `Bearer ${token}` }
  const admitted = await ask(url, headers)
  assert.deepEqual([admitted.status, admitted.headers.get('x-serviceid-proof')], [200, 'session'])
  assert.equal((await ask(url, { ...headers, 'x-forwarded-host': 'bank.example' })).status, 401)
  assert.deepEqual(await codeOf(post(url, answer)), [401, 'CHALLENGE_SPENT'])
})

test('several processes with one secret accept each other’s challenges and sessions', async () => {
  const sessionSecretFile = secretFile()
  const [first, second] = [
    await startGateway({ sessionSecretFile }, olderNonceStore()),
    await startGateway({ sessionSecretFile }, olderNonceStore()),
  ]
  const answer = await agent.answer(await challengeAt(first.url), { audience: SHOP })
  const { token } = jsonOf(await answerOf(post(second.url, answer)))
  const headers = { authorization: `Bearer ${token}` }
  assert.equal((await ask(first.url, headers)).status, 200)
  const other = await startGateway()
  writeFileSync(sessionSecretFile, 'x'.repeat(32))
  other.server.use(config({ sessionSecretFile }))
  assert.equal((await ask(other.url, headers)).status, 401)
})

test('a changed configuration keeps the used challenges', async () => {
  const { server, url } = await startGateway()
  const answer = await agent.answer(await challengeAt(url), { audience: SHOP })
  assert.equal((await post(url, answer)).status, 200)
  const text = JSON.stringify({
    service: service.url,
    audiences: [SHOP],
    signInPath: PATH,
    sessionSecretFile: secretFile(),
  })
  server.use(readConfig(text, {}, server.config))
  assert.deepEqual(await codeOf(post(url, answer)), [401, 'CHALLENGE_SPENT'])
})

test('the challenge names the audience at which the agent is, and no other origin has one', async () => {
  const { url } = await startGateway()
  const atBank = { ...AT_SHOP, 'x-forwarded-host': 'BANK.example:443' }
  assert.match(await challengeAt(url, atBank), /^svc-challenge-v1:https:\/\/bank\.example:/)
  for (const headers of [
    {},
    { ...AT_SHOP, 'x-forwarded-proto': 'http' },
    { ...AT_SHOP, 'x-forwarded-host': 'evil.example' },
    { ...AT_SHOP, 'x-forwarded-host': 'shop.example, bank.example' },
    { ...AT_SHOP, 'x-forwarded-host': 'evil.example/@shop.example' },
  ]) {
    assert.deepEqual(await codeOf(get(url, headers)), [404, 'NOT_FOUND'], JSON.stringify(headers))
  }
  const elsewhere = await agent.answer(await challengeAt(url), { audience: SHOP })
  assert.deepEqual(await codeOf(post(url, elsewhere, atBank)), [401, 'CHALLENGE_SPENT'])
})

test('malformed, large and wrong answers are refused, and so is too much from one address', async () => {
  const { server, url } = await startGateway({ policy: { limit: { requests: 6, seconds: 3600 } } })
  const from = (address: string) => ({ ...AT_SHOP, 'x-forwarded-for': `203.0.113.9, ${address}` })
  const challenge = await challengeAt(url, from('192.0.2.1'))
  const answer = await agent.answer(challenge, { audience: SHOP })
  const here = from('192.0.2.1')
  const { signature } = await agent.answer(await challengeAt(url, here), { audience: SHOP })
  assert.deepEqual(await codeOf(post(url, { ...answer, signature }, here)), [
    401,
    'INVALID_SIGNATURE',
  ])
  assert.deepEqual(await codeOf(post(url, 'x'.repeat(16_385), here)), [413, 'PAYLOAD_TOO_LARGE'])
  assert.deepEqual(await codeOf(post(url, '{', here)), [400, 'VALIDATION_ERROR'])
  const put = fetch(url + PATH, { method: 'PUT', headers: here })
  assert.equal((await put).status, 405)
  const limited = await get(url, here)
  assert.equal((await answerOf(Promise.resolve(limited.clone()))).status, 429)
  assert.ok(Number(limited.headers.get('retry-after')) > 500)
  assert.equal((await get(url, from('192.0.2.2'))).status, 200)
  const metrics = await (await fetch(`${url}/metrics`)).text()
  assert.match(metrics, /^countersign_gateway_sign_ins_total\{status="429"\} 1$/m)
  assert.equal(server.config.sessions?.signIn?.path, PATH)
})

test('the address of the nonces can be in a file, and no mistake shows it', () => {
  const noncesFile = secretFile()
  for (const [text, settings, mistake] of [
    ['http://user:password@redis.example', { noncesFile }, /noncesFile must have a redis:/],
    ['redis://h', { noncesFile, nonces: 'redis://h' }, /nonces and noncesFile cannot be combined/],
    ['redis://h', { noncesFile: `${noncesFile}.none` }, /ENOENT/],
  ] as const) {
    writeFileSync(noncesFile, text)
    assert.throws(
      () => config(settings),
      ({ mistakes }: PolicyError) =>
        mistake.test(mistakes.join('\n')) && !/password/.test(mistakes.join('\n')),
    )
  }
  writeFileSync(noncesFile, 'rediss://user:password@redis.example:6380/1\n')
  assert.equal(
    config({ noncesFile, signInPath: undefined }).nonces,
    'rediss://user:password@redis.example:6380/1',
  )
})

test('without signInPath nothing is served, and settings that do not fit are refused', async () => {
  const { url } = await startGateway({ signInPath: undefined })
  assert.equal((await get(url)).status, 404)
  assert.equal((await ask(url, {})).headers.get('www-authenticate'), 'ServiceID, Bearer')
  const file = secretFile()
  const short = secretFile()
  writeFileSync(short, 'short')
  for (const [settings, mistake] of [
    [{}, /signInPath requires sessionSecret/],
    [{ sessionSecretFile: file, audiences: [] }, /sessions require audiences/],
    [{ sessionSecretFile: file, sessionSecretVariable: 'A' }, /cannot be combined/],
    [{ sessionSecretFile: `${file}.none` }, /ENOENT/],
    [{ sessionSecretFile: short }, /at least 32 bytes/],
    ...['/auth/forward', '/metrics', 'in', '//in', '/a"b', '/a/../b', '/a?b', '/'].map(
      (signInPath) =>
        [{ sessionSecretFile: file, signInPath }, /signInPath must be a path/] as const,
    ),
  ] as const) {
    assert.throws(
      () => config(settings),
      (error) => error instanceof PolicyError && mistake.test(error.mistakes.join('\n')),
      JSON.stringify(settings),
    )
  }
})
