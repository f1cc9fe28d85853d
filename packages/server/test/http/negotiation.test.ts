import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask, askRaw } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'

const DID_JSON = 'application/did+json'

/** Accept headers, and whether they select the DID document instead of the agent object. */
const ACCEPTS: readonly [string, boolean][] = [
  ['', false],
  ['Accept: */*\r\n', false],
  ['Accept:\r\n', false],
  ['Accept: application/json\r\n', false],
  ['Accept: application/*\r\n', false],
  ['Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n', false],
  ['Accept: text/plain\r\n', false],
  ['Accept: application/did+json\r\n', true],
  ['Accept: Application/DID+JSON\r\n', true],
  ['Accept: application/did+json;q=1\r\n', true],
  ['Accept: application/did+json;q=0.001\r\n', true],
  ['Accept: application/did+json;q=0\r\n', false],
  ['Accept: application/did+json;q=0.000, */*\r\n', false],
  ['Accept: application/did+json, application/json\r\n', true],
  ['Accept: application/json, application/did+json\r\n', false],
  ['Accept: application/json;q=0.5, application/did+json\r\n', true],
  ['Accept: application/json;q=0.5, application/did+json;q=0.6\r\n', true],
  ['Accept: application/json;q=0.6, application/did+json;q=0.5\r\n', false],
  ['Accept: application/json, application/did+json;q=0.9\r\n', false],
  ['Accept: application/did+json, */*;q=0.1\r\n', true],
  ['Accept: */*, application/did+json;q=0.5\r\n', false],
  ['Accept: application/*;q=0.9, application/did+json\r\n', true],
  ['Accept: text/html, application/did+json\r\n', true],
  ['Accept: application/ld+json, application/did+json;q=0.8\r\n', true],
  ['Accept: text/html\r\nAccept: application/did+json\r\n', true],
  ['Accept: application/did+json; charset=utf-8\r\n', true],
  ['Accept: application/json, application/did+json;charset="utf-8";q=0.5\r\n', false],
  ['Accept: application/did+jsonx\r\n', false],
  ['Accept: xapplication/did+json\r\n', false],
  ['Accept: application/did+ld+json\r\n', false],
  ['Accept: ,,;q=, application/did+json;;q=zero, /,*\r\n', false],
  [`Accept: ${'application/json;q=0.1,'.repeat(500)}text/html\r\n`, false],
]

test('the DID document is served only if Accept names its media type, else the agent object', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  for (const [headers, wantsDocument] of ACCEPTS) {
    await t.test(headers.trim().slice(0, 100).replace('\r\n', ' and ') || 'no Accept', async () => {
      const answer = await askRaw(
        service,
        `GET /api/agents/${did} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`,
      )
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('vary'), 'Accept')
      assert.equal(isDocument(answer), wantsDocument, answer.text)
    })
  }
})

test('the DID document of an active agent matches the contract, without other members', async (t) => {
  const service = await startTestService(t, { BASE_URL: 'https://agents.example' })
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const answer = await ask(service, `/api/agents/${did}`, { headers: { accept: DID_JSON } })
  const id = `did:web:agents.example:agent:${did}`
  assert.deepEqual(jsonOf(answer), {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
    id,
    controller: id,
    verificationMethod: [
      {
        id: `${id}#key-1`,
        type: 'Ed25519VerificationKey2020',
        controller: id,
        publicKeyBase64: key.publicKey,
      },
    ],
    authentication: [`${id}#key-1`],
    service: [
      {
        id: `${id}#agent-service`,
        type: 'AgentService',
        serviceEndpoint: `https://agents.example/api/agents/${did}`,
      },
    ],
  })
})

test('Accept changes nothing if there is only one representation', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const targets = [`/api/v1/agent/${did}`, `/api/v1/agent/${did}/card`, `/api/agents/${did}/card`]
  for (const target of targets) {
    const plain = await ask(service, target)
    for (const accept of [DID_JSON, 'text/html', 'text/plain', 'image/*', 'application/json;q=0']) {
      const answer = await ask(service, target, { headers: { accept } })
      assert.equal(answer.text, plain.text)
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    }
  }
})

test('API errors are JSON, whatever Accept says', async (t) => {
  const service = await startTestService(t)
  for (const accept of [DID_JSON, 'text/html', 'text/plain', 'application/json;q=0']) {
    const headers = { accept }
    const unknown = await ask(service, `/api/agents/${'1'.repeat(24)}`, { headers })
    assertRefused(unknown, 404, 'NOT_FOUND')
    assertRefused(await ask(service, '/api/agents/x', { headers }), 400, 'VALIDATION_ERROR')
    // Browsers get the error page outside the API: pages/failures.test.ts.
    if (accept !== 'text/html') {
      assertRefused(await ask(service, '/nowhere', { headers }), 404, 'NOT_FOUND')
    }
  }
})

/** By media type and by body, which must agree. */
function isDocument(answer: Answer): boolean {
  const document = answer.headers.get('content-type')?.startsWith(DID_JSON) === true
  assert.equal('verificationMethod' in jsonOf(answer), document)
  return document
}
