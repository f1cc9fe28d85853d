import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERROR_STATUS, type ErrorCode } from '@countersign/protocol'
import { DID, lookupBody, refusal, startImpostor } from '../../../test/support/impostor.ts'
import { freePort } from '../../../test/support/ports.ts'
import { startTestService } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import { signIn } from '../../../test/support/signed-in.ts'
import { Agent } from '../src/agent.ts'
import { CountersignError, isRemoteErrorCode, type ServiceErrorCode } from '../src/errors.ts'
import { newKey } from '../src/keys/keys.ts'
import { recomputeGrade } from '../src/recompute-grade.ts'
import { Registry } from '../src/registry.ts'
import { certifiedAgent, registryOf } from './support/certified.ts'
import { failsWith } from './support/fails.ts'

const SHOP = 'https://shop.example'
const CHALLENGE = `svc-challenge-v1:${SHOP}:${'n'.repeat(22)}`

test('everything that a service says of an agent, by DID, by tail and by key', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const { agent, did } = await certifiedAgent(service, registry, ownerId)
  for (const name of [did, did.slice(-24), agent.publicKey]) {
    const { verified, owner, certificate } = await registry.lookup(name)
    assert.deepEqual([verified, owner.identityMethod], [true, 'in-person'])
    assert.deepEqual([certificate.id, certificate.status], [did, 'active'])
    const card = await registry.card(name)
    assert.deepEqual([card.did, card.grade, card.tier, card.channels], [did, 'C', null, []])
    assert.deepEqual(card.owner, { displayName: 'Owner ada', username: 'ada' })
    assert.equal('svcDid' in card, false)
    assert.equal((await registry.compactCard(name)).verificationStatus, 'verified')
    assert.equal((await registry.agent(name)).publicKey, agent.publicKey)
    const { document, revoked } = await registry.resolve(name)
    assert.equal(document.verificationMethod[0]?.publicKeyBase64, agent.publicKey)
    assert.equal(revoked, false)
    const report = await registry.grade(name)
    assert.deepEqual(
      [report.did, report.grade, report.points],
      [did, 'C', { identity: 2, reach: 0 }],
    )
    assert.equal(report.evidence.verification?.provider, 'in-person')
  }
})

test('a grade is computed anew, and does not agree where the letter is not what the evidence earns', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { did } = await certifiedAgent(service, registry)
  const report = await registry.grade(did)
  const own = recomputeGrade(report)
  assert.deepEqual(own, {
    grade: 'C',
    tier: null,
    gradeIsFallback: false,
    points: { identity: 2, reach: 0 },
    next: report.next,
    agrees: true,
  })
  assert.equal(recomputeGrade({ ...report, grade: 'A' })?.agrees, false)
  assert.equal(recomputeGrade({ ...report, status: 'revoked' })?.grade, 'E')
  assert.equal(recomputeGrade({ ...report, policyVersion: 99 }), null)
})

test('what becomes of a certificate shows at once: no cache vouches for it', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { agent, did } = await certifiedAgent(service, registry)
  const answer = await agent.answer(CHALLENGE, { audience: SHOP })
  assert.equal((await registry.lookup(did)).verified, true)
  assert.equal((await registry.verify(answer)).verified, true)

  await setStatus(service, did, 'suspended')
  const lookup = await registry.lookup(did)
  assert.deepEqual([lookup.verified, lookup.certificate.status], [false, 'suspended'])
  const resolution = await registry.resolve(did)
  assert.deepEqual([resolution.document.authentication, resolution.revoked], [[], false])
  const suspended = await registry.verify(answer)
  assert.deepEqual([suspended.verified, suspended.signatureValid], [false, true])

  await setStatus(service, did, 'revoked')
  assert.equal((await registry.lookup(did)).certificate.status, 'revoked')
  const { document, revoked } = await registry.resolve(did)
  assert.deepEqual([revoked, document.verificationMethod], [true, []])
  assert.equal((await registry.verify(answer)).agent.status, 'revoked')
  assert.equal((await registry.grade(did)).grade, 'E')
})

test('refusals carry the code of the service, its status and its request id', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { agent } = await certifiedAgent(service, registry)
  const nobody = `svc:agent:${'1'.repeat(24)}`
  for (const asking of [
    () => registry.lookup(nobody),
    () => registry.card(nobody),
    () => registry.compactCard(nobody),
    () => registry.agent(nobody),
    () => registry.grade(nobody),
    () => registry.resolve(nobody),
  ]) {
    const error = await failsWith('NOT_FOUND', asking)
    assert.equal(error.status, 404)
    assert.match(error.requestId ?? '', /^req_[0-9a-z]+$/)
  }
  const answer = await agent.answer(CHALLENGE, { audience: SHOP })
  const challenge = CHALLENGE.replace('n', 'm')
  await failsWith('INVALID_SIGNATURE', registry.verify({ ...answer, challenge }))
  const stranger = new Agent({ registry, signer: await newKey() })
  await failsWith(
    'NOT_FOUND',
    registry.verify(await stranger.answer(CHALLENGE, { audience: SHOP })),
  )
  await failsWith('NOT_FOUND', registry.verify({ ...answer, did: nobody }))
})

test('of several DIDs of one key, the one that is asked for is verified', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { agent, did, ownerId } = await certifiedAgent(service, registry)
  const second = await agent.claim(await service.operator.issueToken(ownerId), 'second')
  const { did: _, ...answer } = await agent.answer(CHALLENGE, { audience: SHOP })
  assert.equal((await registry.verify(answer)).agent.did, did)
  assert.equal((await registry.verify({ ...answer, did: second.did })).agent.did, second.did)
})

test('what can never be an agent, an answer or a service is refused before anything leaves', async () => {
  const registry = new Registry('http://127.0.0.1:1')
  const key = 'A'.repeat(43)
  for (const name of [
    '',
    'ada',
    'svc:agent:',
    `acme:agent:${'1'.repeat(24)}`,
    '0'.repeat(24),
    key,
  ]) {
    await failsWith('INVALID_ARGUMENT', () => registry.lookup(name))
  }
  const answer = { publicKey: `${key}=`, challenge: 'x', signature: `${'A'.repeat(86)}==` }
  for (const wrong of [
    { publicKey: 'x' },
    { signature: 'x' },
    { challenge: '' },
    { challenge: `svc-verify-${'0'.repeat(32)}|x` },
    { did: 'x' },
  ]) {
    await failsWith('INVALID_ARGUMENT', registry.verify({ ...answer, ...wrong }))
  }
  for (const service of [
    '',
    'id.example',
    'ftp://id.example',
    'https://id.example/x',
    'https://id.example/?x',
    'https://me:secret@id.example',
  ]) {
    const { message } = await failsWith('INVALID_ARGUMENT', () => new Registry(service))
    assert.ok(!message.includes('secret'))
  }
  for (const options of [
    { timeoutMs: 0 },
    { retries: -1 },
    { maxBytes: Number.NaN },
    { naming: { shortName: 'A' } },
    { naming: { idHeader: 'a b' } },
  ]) {
    await failsWith('INVALID_ARGUMENT', () => new Registry('https://id.example', options))
  }
})

test('answers are frozen: one caller changes nothing for another', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { did } = await certifiedAgent(service, registry)
  const card = await registry.card(did)
  assert.throws(() => {
    ;(card as { grade: string }).grade = 'A'
  }, TypeError)
  assert.throws(() => (card.channels as unknown[]).push({}), TypeError)
})

test('the codes of the service are those of the protocol, in types and at run time', () => {
  const ours: { [Code in ErrorCode]: Code extends ServiceErrorCode ? true : never } & Record<
    ServiceErrorCode,
    true
  > = {
    VALIDATION_ERROR: true,
    INVALID_SIGNATURE: true,
    UNAUTHENTICATED: true,
    FORBIDDEN: true,
    IDENTITY_REQUIRED: true,
    RECENT_SIGN_IN_REQUIRED: true,
    NOT_FOUND: true,
    METHOD_NOT_ALLOWED: true,
    KEY_ALREADY_CLAIMED: true,
    AGENT_NOT_ACTIVE: true,
    CONFLICT: true,
    TOKEN_EXPIRED: true,
    CURSOR_EXPIRED: true,
    PRECONDITION_FAILED: true,
    NOT_IMPLEMENTED: true,
    PAYLOAD_TOO_LARGE: true,
    UNSUPPORTED_MEDIA_TYPE: true,
    RATE_LIMITED: true,
    INTERNAL_ERROR: true,
    UNAVAILABLE: true,
  }
  assert.deepEqual(Object.keys(ours).sort(), Object.keys(ERROR_STATUS).sort())
  for (const code of Object.keys(ours)) assert.equal(isRemoteErrorCode(code), true)
  for (const code of ['toString', 'NETWORK', '']) assert.equal(isRemoteErrorCode(code), false)
  assert.ok(new CountersignError('NETWORK', 'x') instanceof Error)
})

test('an agent proves to the service that it is running', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { agent, did, ownerId } = await certifiedAgent(service, registry)
  const answerTo = async ({ challenge }: { challenge: string }) =>
    agent.answer(challenge, { audience: registry.service })
  const early = await answerTo(await registry.runtimeChallenge(did))
  await failsWith('NOT_FOUND', registry.proveRuntime(did, early))
  const owner = await signIn(service, ownerId)
  const channel = { kind: 'runtime', handleOrDomain: 'home-server' }
  assert.equal((await owner.post(`/api/account/agents/${did}/channels`, channel)).status, 201)

  const { challenge, expiresAt } = await registry.runtimeChallenge(did)
  assert.ok(Date.parse(expiresAt) > Date.now())
  const { signature } = await answerTo({ challenge })
  const proof = await registry.proveRuntime(did, { challenge, signature })

  assert.deepEqual([proof.did, proof.kind, proof.grade], [did, 'runtime', 'B'])
  const wrong = { challenge, signature: 'A'.repeat(86).concat('==') }
  await failsWith('INVALID_SIGNATURE', registry.proveRuntime(did, wrong))
})

test('the JSON of a response is available as it was sent, if the Registry keeps it', async (t) => {
  const body = { ...lookupBody(), planned: true }
  const { url } = await startImpostor(t, { body, headers: { 'cache-control': 'max-age=60' } })
  const keeping = new Registry(url, { keepRaw: true })
  for (const lookup of [await keeping.lookup(DID), await keeping.lookup(DID)]) {
    assert.deepEqual(keeping.rawOf(lookup), body)
    assert.deepEqual(lookup, lookupBody())
  }
  const other = new Registry(url)
  assert.equal(other.rawOf(await other.lookup(DID)), null)
})

test('an error tells whether the request was never sent, and reports codes of newer services', async (t) => {
  const once = { retries: 0 }
  const nobody = new Registry(`http://127.0.0.1:${await freePort()}`, once)
  const refused = await failsWith('NETWORK', nobody.lookup(DID))
  assert.equal(refused.neverSent, true)
  assert.match(refused.message, /cannot be reached \(ECONNREFUSED\)/)
  const dropping = await startImpostor(t, { instead: 'drop' })
  const dropped = await failsWith('NETWORK', new Registry(dropping.url, once).lookup(DID))
  assert.equal(dropped.neverSent, false)
  const newer = await startImpostor(t, { status: 418, body: refusal('TEAPOT') })
  const error = await failsWith('PROTOCOL', new Registry(newer.url, once).lookup(DID))
  assert.deepEqual([error.cause, error.requestId], [{ code: 'TEAPOT', message: 'No.' }, 'req_1'])
})
