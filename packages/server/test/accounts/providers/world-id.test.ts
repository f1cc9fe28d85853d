import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { hashSignal } from '@worldcoin/idkit-core/hashing'
import { signRequest } from '@worldcoin/idkit-core/signing'
import { Value } from 'typebox/value'
import { worldIdProvider, worldIdSettings } from '../../../src/accounts/providers/world-id.ts'
import type { Answer } from '../../http/outbound/support/loopback-server.ts'
import { fails, refuses } from '../../http/outbound/support/refuses.ts'
import { type Client, proveHuman, RP_ID, refusal, startWorldPortal } from './support/world.ts'

const KEY = 'a1'.repeat(32)
const SECRETS = [KEY]
const ACTION = 'countersign-owner'
const CONTEXT = { ownerId: 'o_1', callbackUrl: 'https://id.example/identity/callback/world' }
const ON_LOOPBACK = { ...CONTEXT, callbackUrl: 'http://localhost:8080/identity/callback/world' }
const FIELD_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617n

async function setUp(
  t: TestContext,
  { environment, timeLimitMs = 5_000 }: { environment?: 'staging'; timeLimitMs?: number } = {},
) {
  const portal = await startWorldPortal(t)
  const clock = { now: Date.now() }
  const settings = {
    id: 'world',
    type: 'world-id' as const,
    appId: 'app_5a1b2c3d4e5f',
    rpId: RP_ID,
    action: ACTION,
    signingKey: { env: 'SIGNING_KEY' },
    address: portal.url,
    ...(environment && { environment }),
  }
  const outside = { timeLimitMs, now: () => clock.now }
  const provider = worldIdProvider(settings, { SIGNING_KEY: KEY }, outside)
  return { portal, clock, settings, provider }
}

type SetUp = Awaited<ReturnType<typeof setUp>>

async function begun({ provider }: SetUp, context = CONTEXT) {
  const { client, state } = await provider.begin(context)
  return { client: client as unknown as Client, state }
}

/** Begins, and completes with a proof that `changes` alters. */
async function completed(
  it: SetUp,
  human: string,
  changes: Parameters<typeof proveHuman>[2] = {},
  context = CONTEXT,
) {
  const { client, state } = await begun(it, context)
  return it.provider.complete(context, { body: proveHuman(client, human, changes) }, state)
}

test("a request has IDKit's format, signed for the action with the relying party's key", async (t) => {
  const it = await setUp(t)
  t.mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
  t.mock.method(globalThis.crypto, 'getRandomValues', (array: Uint8Array) => array.fill(7))
  const { client, state } = await begun(it)
  const { sig, nonce } = signRequest({ signingKeyHex: KEY, action: ACTION })
  assert.deepEqual(client, {
    app_id: 'app_5a1b2c3d4e5f',
    action: ACTION,
    rp_context: {
      rp_id: RP_ID,
      nonce,
      created_at: 1_800_000_000,
      expires_at: 1_800_000_300,
      signature: sig,
    },
    environment: 'production',
    signal: 'o_1',
  })
  assert.deepEqual(state, { nonce, createdAt: 1_800_000_000, expiresAt: 1_800_000_300 })
})

test('the subject is the nullifier, within the relying party and the action', async (t) => {
  const it = await setUp(t)
  const { client, state } = await begun(it)
  const body = proveHuman(client, 'ada', { integrity_bundle: { version: 1 } })
  const [response] = body.responses
  assert.deepEqual(await it.provider.complete(CONTEXT, { body }, state), {
    subject: BigInt(response?.nullifier ?? 0).toString(),
    issuer: `${RP_ID}/${ACTION}`,
    assurance: 'substantial',
    verifiedAt: new Date(it.clock.now),
  })
  const [sent] = it.portal.received
  assert.equal(sent?.path, `/api/v4/verify/${RP_ID}`)
  assert.deepEqual(JSON.parse(sent?.body ?? ''), body)
})

test("each person has one subject, regardless of the nullifier's spelling", async (t) => {
  const it = await setUp(t)
  const ada = await completed(it, 'ada')
  const spelt = BigInt(ada.subject).toString(16).toUpperCase()
  const again = await completed(it, 'ada', { response: { nullifier: `0x${spelt}` } })
  assert.equal(again.subject, ada.subject)
  assert.notEqual((await completed(it, 'eve')).subject, ada.subject)
})

test('a proof that does not match the request is rejected before the portal is called', async (t) => {
  const it = await setUp(t)
  const other = await begun(it)
  const cases: [Parameters<typeof proveHuman>[2], RegExp][] = [
    [{ nonce: other.client.rp_context.nonce }, /another request/],
    [{ action: 'something-else' }, /something else/],
    [{ environment: 'staging' }, /environment/],
    [{ environment: 'sandbox' }, /environment/],
    [{ response: { issuer_schema_id: 11, identifier: 'proof_of_human' } }, /another credential/],
    [{ response: { issuer_schema_id: 9303 } }, /another credential/],
    [{ response: { signal_hash: hashSignal('o_2') } }, /another account/],
    [{ response: { signal_hash: '0x0' } }, /another account/],
    [{ response: { expires_at_min: 0 } }, /may have expired/],
    [{ protocol_version: '3.0' }, /World ID 3/],
  ]
  for (const [changes, words] of cases) await refuses(completed(it, 'ada', changes), words, SECRETS)
  assert.equal(it.portal.received.length, 0)
})

test("a proof for another owner's request is rejected", async (t) => {
  const it = await setUp(t)
  const { client, state } = await begun(it)
  const body = proveHuman(client, 'ada')
  const thief = { ...CONTEXT, ownerId: 'o_2' }
  await refuses(it.provider.complete(thief, { body }, state), /another account/, SECRETS)
})

test('results other than a World ID 4 proof of one credential are rejected', async (t) => {
  const it = await setUp(t)
  const { client, state } = await begun(it)
  const good = proveHuman(client, 'ada')
  const [response] = good.responses
  const { environment: _, ...withoutEnvironment } = good
  const session = `session_${'a'.repeat(128)}`
  const beyond = `0x${(BigInt(response?.nullifier ?? 0) + FIELD_ORDER).toString(16)}`
  const bodies: unknown[] = [
    undefined,
    null,
    'proof',
    [],
    {},
    withoutEnvironment,
    { ...good, session_id: session },
    { ...good, responses: [] },
    { ...good, responses: [response, response] },
    { ...good, responses: [{ ...response, issuer_schema_id: '1' }] },
    { ...good, responses: [{ ...response, nullifier: 'nobody' }] },
    { ...good, responses: [{ ...response, nullifier: beyond }] },
    { ...good, responses: [{ ...response, signal_hash: undefined }] },
    { ...good, protocol_version: 4 },
  ]
  for (const body of bodies)
    await refuses(it.provider.complete(CONTEXT, { body }, state), /not a proof of World ID 4/, [])
  assert.equal(it.portal.received.length, 0)
})

test('a request expires after five minutes and a grace period', async (t) => {
  const it = await setUp(t)
  const { client, state } = await begun(it)
  const body = proveHuman(client, 'ada')
  const expiresAt = client.rp_context.expires_at * 1000
  it.clock.now = expiresAt + 60_001
  await refuses(
    it.provider.complete(CONTEXT, { body }, state),
    /expired after five minutes/,
    SECRETS,
  )
  it.clock.now = expiresAt + 60_000
  assert.ok(await it.provider.complete(CONTEXT, { body }, state))
})

test('the portal rejects a proof with altered public inputs', async (t) => {
  const it = await setUp(t)
  const { client, state } = await begun(it)
  const stolen = proveHuman({ ...client, signal: 'o_2' }, 'ada')
  const [response] = stolen.responses
  assert.ok(response)
  const relabelled = [
    { ...response, signal_hash: hashSignal('o_1') },
    { ...proveHuman(client, 'ada').responses[0], nullifier: '0x1' },
  ]
  for (const each of relabelled)
    await refuses(
      it.provider.complete(CONTEXT, { body: { ...stolen, responses: [each] } }, state),
      /does not accept that proof/,
      SECRETS,
    )
  assert.equal(it.portal.received.length, 2)
})

test("the portal's error code decides between refusal and failure", async (t) => {
  const it = await setUp(t)
  const answer = (other: Answer) => {
    it.portal.answers.set('verify', other)
    return completed(it, 'ada')
  }
  await refuses(answer(refusal(400, 'validation_error')), /does not accept/, SECRETS)
  await refuses(answer(refusal(403, 'integrity_verification_failed')), /does not accept/, SECRETS)
  for (const code of ['app_not_migrated', 'rp_not_active', 'configuration_error'])
    await fails(answer(refusal(400, code)), new RegExp(`refuses this service: ${code}`), SECRETS)
  await fails(answer(refusal(404, 'not_found')), /refuses this service: not_found/, SECRETS)
  await fails(answer(refusal(500, 'internal_error')), /cannot check .* 500/, SECRETS)
  await fails(answer({ status: 429, body: '' }), /cannot check .* 429/, SECRETS)
  await fails(answer({ status: 400, body: '<html>' }), /cannot check .* 400/, SECRETS)
})

test('a success response for another proof is a failure', async (t) => {
  const it = await setUp(t)
  const { client, state } = await begun(it)
  const body = proveHuman(client, 'ada')
  const nullifier = body.responses[0]?.nullifier
  const good = { success: true, action: ACTION, nullifier, environment: 'production', results: [] }
  const others: [object | string, RegExp][] = [
    [{ ...good, nullifier: '0x2' }, /another proof/],
    [{ ...good, action: 'other' }, /another proof/],
    [{ ...good, environment: 'staging' }, /another proof/],
    [{ ...good, success: false }, /cannot check/],
    [{ ...good, success: 'true' }, /cannot check/],
    [{ success: true }, /cannot check/],
    ['{"success":true', /cannot check/],
  ]
  for (const [answer, words] of others) {
    it.portal.answers.set('verify', { status: 200, body: answer })
    await fails(it.provider.complete(CONTEXT, { body }, state), words, SECRETS)
  }
  it.portal.answers.set('verify', { status: 200, body: good })
  assert.ok(await it.provider.complete(CONTEXT, { body }, state))
})

test('a timeout is a failure', async (t) => {
  const it = await setUp(t, { timeLimitMs: 300 })
  it.portal.answers.set('verify', 'never')
  await fails(completed(it, 'ada'), /does not answer in time/, SECRETS)
})

test('staging is accepted on loopback only', async (t) => {
  const it = await setUp(t, { environment: 'staging' })
  await fails(begun(it), /only where this service is on loopback/, SECRETS)
  const { client, state } = await begun(it, ON_LOOPBACK)
  const body = proveHuman(client, 'ada')
  await fails(it.provider.complete(CONTEXT, { body }, state), /on loopback/, SECRETS)
  assert.ok(await it.provider.complete(ON_LOOPBACK, { body }, state))
  const production = completed(it, 'ada', { environment: 'production' }, ON_LOOPBACK)
  await refuses(production, /environment/, SECRETS)
})

test('check says whether the relying party is registered', async (t) => {
  const it = await setUp(t)
  const [signing, registered] = await it.provider.check()
  assert.equal(signing?.ok, true)
  assert.deepEqual(registered, {
    name: 'relying party, production',
    ok: true,
    detail: 'registered',
  })
  const staging = await setUp(t, { environment: 'staging' })
  assert.equal((await staging.provider.check())[1]?.ok, false)
  const settings = { ...it.settings, rpId: 'rp_0000000000000000' }
  const unknown = worldIdProvider(settings, { SIGNING_KEY: KEY })
  assert.match((await unknown.check())[1]?.detail ?? '', /does not know this rp_id/)
  it.portal.answers.set('rp-status', { status: 200, body: '<html>' })
  assert.equal((await it.provider.check())[1]?.ok, false)
})

test('settings are strict, and a malformed signing key is not printed', async (t) => {
  const { settings } = await setUp(t)
  const schema = worldIdSettings()
  assert.ok(Value.Check(schema, settings))
  const wrong = [
    { ...settings, rpId: 'rp_../..' },
    { ...settings, appId: 'wid_1' },
    { ...settings, action: '' },
    { ...settings, environment: 'sandbox' },
    { ...settings, signingKey: KEY },
    { ...settings, signIn: true },
    { ...settings, address: 'http://developer.world.org' },
  ]
  for (const each of wrong) assert.ok(!Value.Check(schema, each), JSON.stringify(each))
  for (const key of [`${KEY}00`, `${KEY.slice(2)}zz`]) {
    const start = () => worldIdProvider(settings, { SIGNING_KEY: key })
    assert.throws(start, (error: Error) => {
      assert.equal(error.name, 'SecretError')
      return !error.message.includes(key)
    })
  }
})

test('a verification does not expire by default, because it could not be renewed in time', async (t) => {
  const { settings, provider } = await setUp(t)
  assert.equal(provider.validForMs, null)
  const days = worldIdProvider({ ...settings, validForDays: 400 }, { SIGNING_KEY: KEY })
  assert.equal(days.validForMs, 400 * 86_400_000)
})
