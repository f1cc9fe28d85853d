import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { NonceOutcome } from '@countersign/protocol/signed-request-types'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { rotateKey } from '../../../../test/support/rotate-key.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { Agent } from '../../src/agent.ts'
import { newKey } from '../../src/keys/keys.ts'
import { Registry } from '../../src/registry.ts'
import { type AgentSignInOptions, agentSignIn } from '../../src/relying-party/agent-sign-in.ts'
import { memoryNonceStore } from '../../src/relying-party/memory-nonce-store.ts'
import { registryKeys } from '../../src/relying-party/registry-keys.ts'
import { certifiedAgent, registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'

const SHOP = 'https://shop.example'
const SECRET = 'a secret of at least thirty-two bytes'

const cleanup = fileCleanup()
let service: TestService
let ownerId: number

before(async () => {
  service = await startTestService(cleanup)
  ownerId = await service.operator.addVerifiedOwner()
})

const certify = () => certifiedAgent(service, undefined, ownerId)
const site = (options: Partial<AgentSignInOptions> = {}) =>
  agentSignIn({ registry: registryOf(service), audience: SHOP, secret: SECRET, ...options })
const answerTo = (agent: Agent, challenge: string) => agent.answer(challenge, { audience: SHOP })

test('a session ends with the key: with `live` at once, otherwise once a later key was seen', async () => {
  const { agent, did } = await certify()
  const signIn = site()
  const { token } = await signIn.complete(await answerTo(agent, await signIn.begin()))
  assert.equal((await signIn.session(token))?.keySequence, 1)
  const next = await newKey()
  await rotateKey(service, did, next.publicKey)
  const former = await answerTo(agent, await signIn.begin())
  await failsWith('NOT_ADMITTED', signIn.complete(former))
  assert.equal(await site().session(token, { live: true }), null)
  assert.equal((await signIn.session(token))?.did, did, 'this process has not seen the later key')
  agent.useKey(next)
  const renewed = await signIn.complete(await answerTo(agent, await signIn.begin()))
  assert.equal((await signIn.session(renewed.token))?.keySequence, 2)
  assert.equal((await signIn.session(renewed.token, { live: true }))?.did, did)
  assert.equal(await signIn.session(token), null)
})

test('an earlier key than the last one that was seen is refused', async () => {
  const { key, did } = await certify()
  const answers = new Map<string, Response>()
  let replays = false
  const registry = new Registry(service.url, {
    cacheEntries: 0,
    fetch: async (input, init) => {
      const url = String(input)
      const kept = answers.get(url)
      if (replays && kept !== undefined) return kept.clone()
      const answer = await fetch(input, init)
      if (kept === undefined) answers.set(url, answer.clone())
      return answer
    },
  })
  const signatureAgent = {
    dialect: 'ietf',
    url: `${service.url}/agent/${did.slice(-24)}/jwks.json`,
  } as const
  const { keyThumbprint: keyid } = await registry.agent(did)
  let now = 0
  const find = registryKeys(registry, { now: () => now })
  assert.ok(typeof (await find({ signatureAgent, keyid })) === 'object')
  await rotateKey(service, did, (await newKey()).publicKey)
  assert.equal((await registry.agent(did)).keySequence, 2)
  assert.equal(await find({ signatureAgent, keyid }), 'unknown-key')
  replays = true
  now += 60_000
  assert.equal(await find({ signatureAgent, keyid }), 'directory-unavailable')
  const signIn = site({ registry })
  const agent = new Agent({ registry, signer: key, did })
  await failsWith('NOT_ADMITTED', signIn.complete(await answerTo(agent, await signIn.begin())))
})

test('with `nonces`, every process with the secret accepts a challenge, and all together once', async () => {
  const { agent, did } = await certify()
  const nonces = memoryNonceStore()
  const [first, second] = [site({ nonces }), site({ nonces })]
  const answer = await answerTo(agent, await first.begin())
  assert.equal((await second.complete(answer)).did, did)
  await failsWith('CHALLENGE_SPENT', first.complete(answer))
  const late = await answerTo(agent, await first.begin())
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => (i % 2 ? first : second).complete(late)),
  )
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
})

test('with `nonces`, only challenges of this site and secret count, and only in time', async () => {
  const { agent } = await certify()
  let now = Date.now()
  const options = { nonces: memoryNonceStore(), now: () => now }
  const signIn = site(options)
  const challenge = await signIn.begin()
  const forged = challenge.slice(0, -1) + (challenge.endsWith('A') ? 'B' : 'A')
  const elsewhere = await site({ ...options, secret: 'x'.repeat(32) }).begin()
  const bank = await site({ ...options, audience: 'https://bank.example' }).begin()
  const moved = bank.replace('https://bank.example', SHOP)
  const invented = `svc-challenge-v1:${SHOP}:${'n'.repeat(75)}`
  for (const each of [forged, elsewhere, moved, invented, `${challenge}AA`]) {
    await failsWith('CHALLENGE_SPENT', signIn.complete(await answerTo(agent, each)))
  }
  const rotated = site({ ...options, secret: ['y'.repeat(32), SECRET] })
  await rotated.complete(await answerTo(agent, challenge))
  const old = await answerTo(agent, await signIn.begin())
  // While the store has just started, each challenge of one millisecond expires a millisecond later.
  now += 60_001
  await failsWith('CHALLENGE_SPENT', signIn.complete(old))
})

test('with `nonces`, nothing is recorded for wrong signatures, and a store that cannot tell refuses', async () => {
  const { agent, did } = await certify()
  let outcome: NonceOutcome = 'fresh'
  const keys: string[] = []
  const nonces = {
    record: ({ keyid }: { readonly keyid: string }) => {
      keys.push(keyid)
      return outcome
    },
  }
  const signIn = site({ nonces })
  const answer = await answerTo(agent, await signIn.begin())
  const { signature } = await answerTo(agent, await signIn.begin())
  await failsWith('INVALID_SIGNATURE', signIn.complete({ ...answer, signature }))
  await failsWith('INVALID_ARGUMENT', signIn.complete({ ...answer, signature: 'x' }))
  assert.deepEqual(keys, [])
  for (outcome of ['unchecked', 'share-exceeded'] as const) {
    const request = new Request(SHOP, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(answer),
    })
    assert.equal((await signIn.handle(request)).status, 503)
  }
  outcome = 'fresh'
  assert.equal((await signIn.complete(answer)).did, did)
  assert.equal(new Set(keys).size, 1)
})
