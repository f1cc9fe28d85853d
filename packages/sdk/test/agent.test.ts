import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { unchanged } from '../../../test/support/database-digest.ts'
import { startTestService } from '../../../test/support/service.ts'
import { readCases, textOf } from '../../../test/support/vector-files.ts'
import { Agent } from '../src/agent.ts'
import { newKey } from '../src/keys/keys.ts'
import { isSignedChallenge } from '../src/keys/signed-challenge.ts'
import { Registry } from '../src/registry.ts'
import { certifiedAgent, registryOf } from './support/certified.ts'
import { failsWith } from './support/fails.ts'

const SHOP = 'https://shop.example'
const NONCE = 'n'.repeat(22)
const offline = new Registry('http://127.0.0.1:1')
const anAgent = async () => new Agent({ registry: offline, signer: await newKey() })

test('an agent claims a DID, and knows who it is', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const owner = await service.operator.addVerifiedOwner('ada')
  const signer = await newKey()
  const agent = new Agent({ registry, signer })
  assert.equal(agent.did, null)
  await failsWith('NOT_FOUND', agent.whoami())
  await failsWith('NO_DID', () => agent.identification())

  const { did, message } = await agent.claim(await service.operator.issueToken(owner))
  assert.match(did, /^svc:agent:[1-9A-HJ-NP-Za-km-z]{24}$/)
  assert.match(message, /\w/)
  assert.equal(agent.did, did)
  const self = await agent.whoami()
  assert.equal(self.did, did)
  assert.equal(self.publicKey, agent.publicKey)
  assert.deepEqual(self.owner, { displayName: 'Owner ada', username: 'ada' })

  const restarted = new Agent({ registry: registryOf(service), signer })
  assert.equal((await restarted.whoami()).did, did)
  assert.equal(restarted.did, did)
  const told = new Agent({ registry, signer, did: did.slice(-24) })
  assert.equal(told.did, did)
})

test('one key claims several DIDs under labels of its own; used and unknown tokens are told apart', async (t) => {
  const service = await startTestService(t)
  const { agent, did, ownerId } = await certifiedAgent(service)
  const second = await service.operator.issueToken(ownerId)
  const claimed = await agent.claim(second, 'support-bot')
  assert.notEqual(claimed.did, did)
  await failsWith('TOKEN_EXPIRED', agent.claim(second, 'another'))
  const error = await failsWith('NOT_FOUND', agent.claim(`svc-verify-${'0'.repeat(32)}`, 'a'))
  assert.equal(error.status, 404)
  assert.match(error.requestId ?? '', /^req_/)
})

test('an agent that starts again with the same claim gets the same certificate, and nothing changes', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const owner = await service.operator.addVerifiedOwner('ada')
  const signer = await newKey()
  const token = await service.operator.issueToken(owner)
  const { did } = await new Agent({ registry, signer }).claim(token)
  const again = new Agent({ registry, signer })
  await unchanged(service, async () => {
    assert.equal((await again.claim(token)).did, did)
    assert.equal(again.did, did)
  })
  const unused = await service.operator.issueToken(owner)
  assert.equal((await again.claim(unused)).did, did)
  const support = await again.claim(unused, 'support-bot')
  assert.notEqual(support.did, did, 'the unused token was not used')
  assert.equal((await again.claim(unused, 'support-bot')).did, support.did)
  await failsWith('TOKEN_EXPIRED', again.claim(token, 'another label'))
  await failsWith('TOKEN_EXPIRED', new Agent({ registry, signer: await newKey() }).claim(token))
})

test('a claim with the token of another owner, or for a burned key, does not hide behind an older certificate', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { agent, did } = await certifiedAgent(service, registry)
  const other = await service.operator.addVerifiedOwner()
  const theirs = await service.operator.issueToken(other)
  await failsWith('KEY_ALREADY_CLAIMED', agent.claim(theirs))
  await new Agent({ registry, signer: await newKey() }).claim(theirs)
  await failsWith('TOKEN_EXPIRED', agent.claim(theirs))
  const { ownerId, ...burned } = await certifiedAgent(service, registry)
  await burned.agent.reportKey()
  const own = await service.operator.issueToken(ownerId)
  await failsWith('KEY_ALREADY_CLAIMED', burned.agent.claim(own))
  assert.equal((await agent.whoami()).did, did)
})

test('an agent that does not know its DID asks for it once, when it signs', async (t) => {
  const service = await startTestService(t)
  const { key, did } = await certifiedAgent(service)
  let questions = 0
  const registry = new Registry(service.url, {
    fetch: (input, init) => {
      questions += 1
      return fetch(input, init)
    },
  })
  const agent = new Agent({ registry, signer: key, audiences: [SHOP] })
  const signed = await Promise.all([1, 2, 3].map((page) => agent.sign(`${SHOP}/?page=${page}`)))
  signed.push(await agent.sign(SHOP))
  assert.deepEqual(
    signed.map(({ headers }) => headers.get('serviceid')),
    [did, did, did, did],
  )
  assert.deepEqual([questions, agent.did], [1, did])

  const unknown = new Agent({ registry, signer: await newKey(), audiences: [SHOP] })
  const error = await failsWith('NO_DID', unknown.sign(SHOP))
  assert.match(error.message, /claim\(token\)/)
  const down = new Registry('http://127.0.0.1:1', { retries: 0 })
  const offlineAgent = new Agent({ registry: down, signer: key, audiences: [SHOP] })
  await failsWith('NETWORK', offlineAgent.sign(SHOP))
})

test('a token or label that cannot be one is refused before anything leaves', async () => {
  const agent = await anAgent()
  const token = `svc-verify-${'0'.repeat(32)}`
  for (const text of [
    '',
    'svc-verify-',
    token.toUpperCase(),
    `acme${token.slice(3)}`,
    `${token} `,
  ]) {
    await failsWith('INVALID_ARGUMENT', agent.claim(text))
  }
  for (const label of ['', 'x'.repeat(129), 'a\nb', '\ud800']) {
    await failsWith('INVALID_ARGUMENT', agent.claim(token, label))
  }
})

test('an agent renounces its certificate, and the owner gets the next one with another key', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { agent, key, did, ownerId } = await certifiedAgent(service, registry)
  await failsWith('NO_DID', new Agent({ registry, signer: key }).renounce())
  const other = await certifiedAgent(service, registry)
  const confused = new Agent({ registry, signer: key, did: other.did })
  await failsWith('UNUSABLE_KEY', confused.renounce())

  const renounced = await agent.renounce()

  const { statusChangedAt, finalAt } = renounced
  const statusReason = 'renounced_by_agent'
  assert.deepEqual(renounced, { did, status: 'suspended', statusReason, statusChangedAt, finalAt })
  assert.ok(Date.parse(finalAt ?? '') > Date.now() + 71 * 3_600_000)
  assert.deepEqual((await agent.keys()).renouncing, { finalAt })
  assert.deepEqual(await agent.renounce(), renounced)
  assert.equal((await registry.lookup(did)).certificate.status, 'suspended')
  assert.equal((await registry.lookup(other.did)).certificate.status, 'active')
  const moved = new Agent({ registry, signer: await newKey() })
  const claimed = await moved.claim(await service.operator.issueToken(ownerId))
  assert.notEqual(claimed.did, did)
})

test('an agent signs its key set, and the service serves it with the signature', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { agent, key, did } = await certifiedAgent(service, registry)
  const proof = await agent.proveDirectory()
  assert.equal(proof.did, did)
  assert.ok(Date.parse(proof.expiresAt) > Date.now())
  const { headers } = await fetch(`${service.url}/agent/${did}/jwks.json`)
  assert.match(headers.get('signature-input') ?? '', new RegExp(`keyid="${proof.keyid}"`))
  const elsewhere = new Agent({ registry, signer: key, did, issuer: 'https://other.example' })
  await failsWith('INVALID_SIGNATURE', elsewhere.proveDirectory())
  await failsWith('NO_DID', new Agent({ registry, signer: key }).proveDirectory())
})

test('an answer to a challenge proves the key to the service', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const { agent, did } = await certifiedAgent(service, registry)
  const challenge = `svc-challenge-v1:${SHOP}:${NONCE}`
  for (const audience of [
    SHOP,
    `${SHOP}/sign-in?next=1`,
    new URL(SHOP),
    'HTTPS://Shop.Example:443',
  ]) {
    const answer = await agent.answer(challenge, { audience })
    assert.deepEqual(
      [answer.challenge, answer.publicKey, answer.did],
      [challenge, agent.publicKey, did],
    )
    const { verified, agent: proven } = await registry.verify(answer)
    assert.equal(verified, true)
    assert.equal(proven.did, did)
  }
})

test('an agent signs only for the one it talks to', async () => {
  const agent = await anAgent()
  for (const audience of [
    'http://shop.example',
    'https://shop.example:8443',
    'https://shop.example.evil.example',
    'https://xn--shp-1la.example',
  ]) {
    const challenge = `svc-challenge-v1:${audience}:${NONCE}`
    await failsWith('WRONG_AUDIENCE', agent.answer(challenge, { audience: SHOP }))
  }
  for (const challenge of [
    '',
    'hello',
    NONCE,
    `svc-challenge-v1:${SHOP}`,
    `svc-challenge-v1:${SHOP}:short`,
    `svc-challenge-v1:${SHOP}/:${NONCE}`,
    `svc-challenge-v2:${SHOP}:${NONCE}`,
    `acme-challenge-v1:${SHOP}:${NONCE}`,
    ` svc-challenge-v1:${SHOP}:${NONCE}`,
    `svc-challenge-v1:${SHOP}:${NONCE}\n`,
  ]) {
    await failsWith('NOT_A_CHALLENGE', agent.answer(challenge, { audience: SHOP }))
  }
  const good = `svc-challenge-v1:${SHOP}:${NONCE}`
  for (const audience of ['', 'shop.example', 'file:///etc/passwd', 'data:,x']) {
    await failsWith('INVALID_ARGUMENT', agent.answer(good, { audience }))
  }
})

test('what no one may sign, an agent does not sign: every claim and foreign text of the vectors', async () => {
  const agent = await anAgent()
  const refused = readCases<{ text: string; times?: number }>('challenge.json', 'invalid')
  let claims = 0
  for (const each of refused) {
    const text = textOf(each)
    const isClaim = /-verify-[0-9a-f]{32}\|/i.test(text)
    claims += isClaim ? 1 : 0
    const code = isClaim ? 'LOOKS_LIKE_A_CLAIM' : 'NOT_A_CHALLENGE'
    await failsWith(code, agent.answer(text, { audience: SHOP }))
    await failsWith(code, agent.answerUnbound(text))
  }
  assert.ok(claims > 1)
})

test('a challenge that names nobody is signed only where that was asked for, and none that names somebody', async () => {
  const agent = await anAgent()
  const answer = await agent.answerUnbound('any random string')
  assert.equal(await isSignedChallenge(answer), true)
  for (const name of ['svc', 'acme', 'SVC']) {
    const challenge = `${name}-challenge-v1:${SHOP}:${NONCE}`
    await failsWith('WRONG_AUDIENCE', agent.answerUnbound(challenge))
  }
})

test('requests to an audience carry the header that the service reads', async (t) => {
  const service = await startTestService(t)
  const { agent, did } = await certifiedAgent(service)
  assert.deepEqual(agent.identification(), { ServiceID: did })
  const { fetch } = agent
  const identified = await fetch(`${service.url}/api/v1/identify`)
  assert.equal(((await identified.json()) as { svcDid: string }).svcDid, did)
})

test('a signer of your own signs, and one that signs by something else is found out', async (t) => {
  const service = await startTestService(t)
  const registry = registryOf(service)
  const owner = await service.operator.addVerifiedOwner()
  const token = await service.operator.issueToken(owner)
  const [key, other] = [await newKey(), await newKey()]
  let signed = 0
  const kms = {
    publicKey: key.publicKey,
    sign: async (message: Uint8Array) => {
      signed += 1
      return key.sign(message)
    },
  }
  const broken = new Agent({ registry, signer: { publicKey: key.publicKey, sign: other.sign } })
  await failsWith('UNUSABLE_KEY', broken.claim(token))
  const truncated = async (message: Uint8Array) => (await key.sign(message)).slice(1)
  const short = new Agent({ registry, signer: { publicKey: key.publicKey, sign: truncated } })
  await failsWith('UNUSABLE_KEY', short.claim(token))
  await new Agent({ registry, signer: kms }).claim(token)
  assert.equal(signed, 1)
  const noKey = { publicKey: new Uint8Array(31), sign: key.sign }
  await failsWith('UNUSABLE_KEY', () => new Agent({ registry, signer: noKey }))
})

test('a claim that may have gone through says so, and is not sent twice', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const signer = await newKey()
  let claims = 0
  /** Passes everything on, and drops the connection where it should answer a claim. */
  const proxy = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = 'GET', url = '/' } = request
    const init = { method, ...(body && { body, headers: { 'content-type': 'application/json' } }) }
    const answer = await fetch(service.url + url, init)
    if (url === '/api/v1/claim') {
      claims += 1
      request.socket.destroy()
      return
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(await answer.text())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.after(() => proxy.close().closeAllConnections())
  const { port } = proxy.address() as { port: number }
  const agent = new Agent({ registry: new Registry(`http://127.0.0.1:${port}`), signer })
  await failsWith('OUTCOME_UNKNOWN', agent.claim(await service.operator.issueToken(owner)))
  assert.equal(claims, 1)
  assert.equal(agent.did, null)
  assert.equal((await agent.whoami()).publicKey, agent.publicKey)
  assert.match(agent.did ?? '', /^svc:agent:/)
})
