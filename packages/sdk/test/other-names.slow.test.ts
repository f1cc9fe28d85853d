import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookupBody, startImpostor } from '../../../test/support/impostor.ts'
import { startTestService } from '../../../test/support/service.ts'
import { Agent } from '../src/agent.ts'
import { identifiedDid } from '../src/identification.ts'
import { newKey } from '../src/keys/keys.ts'
import { Registry } from '../src/registry.ts'
import { agentSignIn } from '../src/relying-party/agent-sign-in.ts'
import { verifyRequest } from '../src/relying-party/verify-request.ts'
import { certifiedAgent, registryOf } from './support/certified.ts'
import { failsWith } from './support/fails.ts'

const ACME = { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID', SERVICE_NAME: 'Acme' }
const SHOP = 'https://shop.example'

test('a deployment of other names: everything works, and nothing says svc', async (t) => {
  const service = await startTestService(t, ACME)
  const registry = registryOf(service, { naming: { shortName: 'acme', idHeader: 'AcmeID' } })
  const { agent, did } = await certifiedAgent(service, registry)
  assert.match(did, /^acme:agent:/)
  assert.deepEqual(agent.identification(), { AcmeID: did })
  const headers = new Headers(agent.identification())
  assert.equal(identifiedDid(headers, registry.naming), did)
  assert.equal(identifiedDid(headers), null)
  const identified = await agent.fetch(`${service.url}/api/v1/identify`)
  assert.equal(((await identified.json()) as { acmeDid: string }).acmeDid, did)
  const signed = await agent.sign(service.url)
  assert.match(signed.headers.get('signature-input') ?? '', / "acmeid"\)/)
  const proof = await verifyRequest(signed, { registry, audiences: [service.url], nonces: null })
  assert.equal(proof.did, did)

  const signIn = agentSignIn({ registry, audience: SHOP, secret: 's'.repeat(32) })
  const challenge = await signIn.begin()
  assert.match(challenge, /^acme-challenge-v1:https:\/\/shop\.example:/)
  const answer = await agent.answer(challenge, { audience: SHOP })
  const session = await signIn.complete(answer)
  const everything = JSON.stringify([
    await registry.lookup(did),
    await registry.card(did),
    await registry.compactCard(did),
    await registry.agent(did),
    await registry.grade(did),
    await registry.resolve(did),
    answer,
    session,
    await signIn.session(session.token),
    atob((session.token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')),
    await failsWith('INVALID_ARGUMENT', agent.claim('svc')),
    await failsWith('INVALID_ARGUMENT', () => registry.lookup('x')),
    (await failsWith('INVALID_ARGUMENT', () => registry.lookup('x'))).message,
    (await failsWith('NOT_A_CHALLENGE', agent.answer('x', { audience: SHOP }))).message,
  ])
  assert.doesNotMatch(everything, /svc|ServiceID/)
})

test('the names are read from the service', async (t) => {
  for (const [env, shortName, idHeader] of [
    [{}, 'svc', 'ServiceID'],
    [ACME, 'acme', 'AcmeID'],
  ] as const) {
    const service = await startTestService(t, env)
    const registry = await Registry.discover(service.url)
    assert.deepEqual(registry.naming, { shortName, idHeader })
    const owner = await service.operator.addVerifiedOwner()
    const audiences = [service.url]
    const agent = new Agent({ registry, signer: await newKey(), audiences })
    const { did } = await agent.claim(await service.operator.issueToken(owner))
    const response = await agent.fetch(`${service.url}/api/v1/identify`)
    assert.equal(response.status, 200, 'header names know no case')
    assert.equal((await registry.lookup(did)).certificate.id, did)
  }
})

test('a Registry of the wrong names says what is wrong', async (t) => {
  const service = await startTestService(t, ACME)
  const right = registryOf(service, { naming: { shortName: 'acme' } })
  const { agent } = await certifiedAgent(service, right)
  const wrong = new Registry(service.url)
  const { message } = await failsWith('PROTOCOL', wrong.card(agent.publicKey))
  assert.match(message, /svcDid/)
})

test('what is no description of a service is none', async (t) => {
  for (const body of [{}, [], 'x', { paths: {} }, { paths: { '/api/v1/identify': null } }]) {
    const { url } = await startImpostor(t, { body })
    await failsWith('PROTOCOL', Registry.discover(url))
  }
})

test('a Registry for any deployment takes the short name from the DID or the response', async (t) => {
  for (const env of [{}, ACME]) {
    const service = await startTestService(t, env)
    const named = await Registry.discover(service.url)
    const { agent, did } = await certifiedAgent(service, named)
    const registry = registryOf(service, { naming: 'any' })
    for (const name of [did, did.slice(-24), agent.publicKey]) {
      assert.equal((await registry.lookup(name)).certificate.id, did)
      assert.equal((await registry.card(name)).did, did)
      assert.equal((await registry.agent(name)).did, did)
      assert.equal((await registry.grade(name)).did, did)
      assert.ok((await registry.resolve(name)).document.id.endsWith(`:agent:${did}`))
    }
    const answer = await agent.answerUnbound('x')
    for (const request of [answer, { ...answer, did }]) {
      assert.equal((await registry.verify(request)).agent.did, did)
    }
    await failsWith('INVALID_ARGUMENT', () => registry.naming)
    await failsWith('INVALID_ARGUMENT', () => registry.lookup('ada'))
    const signer = await newKey()
    await failsWith('INVALID_ARGUMENT', () => new Agent({ registry, signer }))
  }
})

test('a Registry for any deployment refuses responses about another agent', async (t) => {
  const { url } = await startImpostor(t, { body: lookupBody() })
  const registry = new Registry(url, { naming: 'any' })
  const tail = 'A'.repeat(24)
  assert.equal((await registry.lookup(tail)).verified, true)
  for (const agent of [`acme:agent:${tail}`, 'B'.repeat(24)]) {
    assert.match((await failsWith('PROTOCOL', registry.lookup(agent))).message, /another agent/)
  }
})
