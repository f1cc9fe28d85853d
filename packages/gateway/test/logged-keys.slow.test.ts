import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { decodeKey, keyThumbprint } from '@countersign/protocol'
import { type Agent, newKey, Registry } from '@countersign/sdk'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { startTestService, type TestService } from '../../../test/support/service.ts'
import { cosigned, keyEntry, testLog, testNoteKey } from '../../../test/support/test-log.ts'
import { until } from '../../../test/support/until.ts'
import { Gate } from '../src/gate.ts'
import type { GatewayOptions } from '../src/options.ts'
import type { PolicyInput, WhenUnreachable } from '../src/policy/policy.ts'
import { Clock } from './support/clock.ts'
import { fetchGateway } from './support/fetch-gateway.ts'
import {
  errorInstead,
  type LogFront,
  logPolicyOf,
  proofOf,
  startLogFront,
  textInstead,
} from './support/log-front.ts'
import { olderNonceStore, SHOP, signingAgent } from './support/signing.ts'

const cleanup = fileCleanup()
let service: TestService
/** Accepts the log of the service. */
let logPolicy: string

before(async () => {
  service = await startTestService(cleanup)
  const { did } = await signingAgent(service)
  await proofOf(service, did)
  logPolicy = await logPolicyOf(service)
})
/** Longer than the gateway leaves a key alone that is not logged. */
const RETRY_MS = 2_000
const headersOf = async (agent: Agent) => Object.fromEntries((await agent.sign(`${SHOP}/`)).headers)

/** A site that admits agents by a proof of possession, and only those whose key is logged. */
function startShop(
  front: Pick<LogFront, 'url'>,
  policy: PolicyInput = {},
  options: Partial<GatewayOptions> = {},
) {
  const clock = new Clock()
  const rules = { requireProof: true, requireLogged: { policy: logPolicy }, ...policy }
  const visit = fetchGateway({
    service: front.url,
    issuer: service.url,
    audiences: [SHOP],
    nonces: olderNonceStore(),
    policy: rules,
    now: clock.now,
    ...options,
  })
  const see = async (agent: Agent, path = '/') => {
    const request = await agent.sign(`${SHOP}${path}`)
    const { status, decision } = await visit(Object.fromEntries(request.headers), path)
    return `${status} ${decision.action} ${decision.reasons[0].code}`
  }
  return { visit, see, clock }
}

test('a key that is logged is admitted, and its proof is fetched once', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did } = await signingAgent(service)
  await proofOf(service, did)
  const { see, clock } = startShop(front)
  for (let i = 0; i < 3; i++) {
    assert.equal(await see(agent), '200 allow owner-verified')
    clock.pass(60_000)
  }
  assert.deepEqual(front.proofs, [did])
  front.instead = errorInstead(503, 'UNAVAILABLE')
  assert.equal(await see(agent), '200 allow owner-verified')
})

test('a request that is refused anyway causes no question for a proof', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did } = await signingAgent(service)
  const routes = [
    { path: '/open', requireLogged: null },
    { path: '/denied', deny: [did] },
    { path: '/old', minimumKeyAgeSeconds: 60 },
  ]
  const { see, visit } = startShop(front, { routes })
  assert.equal((await visit({ ServiceID: did })).decision.reasons[0].code, 'proof-required')
  assert.equal(await see(agent, '/open'), '200 allow owner-verified')
  assert.equal(await see(agent, '/denied'), '403 deny deny-list')
  assert.equal(await see(agent, '/old'), '403 deny key-too-young')
  assert.deepEqual(front.proofs, [])
})

test('the allow list does not replace the log, and an ambiguous path has the strictest rules', async (t) => {
  const front = await startLogFront(t, service)
  front.instead = errorInstead(404, 'NOT_FOUND')
  const { agent, did } = await signingAgent(service)
  const policy = { requireLogged: null, allow: [did] }
  const routes = [{ path: '/logged', requireLogged: { policy: logPolicy } }]
  const { see } = startShop(front, { ...policy, routes })
  assert.equal(await see(agent), '200 allow allow-list')
  assert.equal(await see(agent, '/logged'), '403 deny key-not-logged')
  assert.equal(await see(agent, '/x;logged'), '403 deny key-not-logged')
})

test('while a key is not under a checkpoint yet, `unreachable` decides, and then its proof', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did } = await signingAgent(service)
  await proofOf(service, did)
  const expected: Record<WhenUnreachable, string> = {
    deny: '503 deny log-unavailable',
    stale: '503 deny log-unavailable',
    flag: '200 flag log-unavailable',
    allow: '200 allow log-unavailable',
  }
  for (const [unreachable, early] of Object.entries(expected)) {
    // As the service answers for a key that waits for the next checkpoint.
    front.instead = errorInstead(503, 'UNAVAILABLE')
    const { see, clock } = startShop(front, { unreachable: unreachable as WhenUnreachable })
    const before = front.proofs.length
    assert.equal(await see(agent), early)
    assert.equal(await see(agent), early)
    assert.equal(front.proofs.length, before + 1, 'it is left alone for a moment')
    front.instead = null
    clock.pass(RETRY_MS)
    assert.equal(await see(agent), '200 allow owner-verified')
    assert.equal(front.proofs.length, before + 2)
  }
})

test('an answer that is kept does not keep what it says about the log', async (t) => {
  const front = await startLogFront(t, service)
  const { did } = await signingAgent(service)
  await proofOf(service, did)
  front.instead = errorInstead(503, 'UNAVAILABLE')
  const { visit, clock } = startShop(front, { requireProof: false, cacheSeconds: 60 })
  for (let i = 0; i < 2; i++) assert.equal((await visit({ ServiceID: did })).status, 503)
  front.instead = null
  clock.pass(RETRY_MS)
  for (let i = 0; i < 2; i++) assert.equal((await visit({ ServiceID: did })).status, 200)
  assert.deepEqual(front.proofs, [did, did])
})

test('what else is known of the agent counts while the log is unavailable', async (t) => {
  const front = await startLogFront(t, service)
  front.instead = errorInstead(503, 'UNAVAILABLE')
  const { agent } = await signingAgent(service)
  const policy = { unreachable: 'allow', identityMethods: ['other'] } as const
  const limited = startShop(front, policy)
  assert.equal(await limited.see(agent), '200 limit log-unavailable')
  const refusing = startShop(front, { ...policy, levels: { unverified: 'deny' } })
  assert.equal(await refusing.see(agent), '403 deny provider-not-accepted')
})

test('after a rotation, the former proof is refused, and a new one is needed', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did } = await signingAgent(service)
  const former = await proofOf(service, did)
  const { see, clock } = startShop(front)
  assert.equal(await see(agent), '200 allow owner-verified')
  await agent.rotateKey(await newKey())
  front.instead = textInstead(former)
  clock.pass(10_000)
  assert.equal(await see(agent), '403 deny key-not-logged')
  front.instead = null
  await until(async () => {
    service.tick()
    clock.pass(RETRY_MS)
    return (await see(agent)) === '200 allow owner-verified'
  })
  assert.ok(front.proofs.length >= 3)
})

test('no forged proof is accepted', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did, key } = await signingAgent(service)
  const { did: otherDid } = await signingAgent(service)
  const genuine = await proofOf(service, did)
  const others = await proofOf(service, otherDid)
  const [, index = ''] = /index (\d+)\n/.exec(genuine) ?? []
  const id = { did, keyThumbprint: keyThumbprint(key.publicKey), keySequence: 1 }

  // The operator of another log, who may call it by the same name.
  const [, name = ''] = /^log ([^+]+)/.exec(logPolicy) ?? []
  const forger = testNoteKey(name)
  const forged = testLog(forger)
  forged.add(keyEntry(id))
  const graded = testLog(testNoteKey('graded.example/log/1'))
  graded.add(keyEntry(id, 'grade'))
  const checkpointOf = (proof: string) => proof.slice(proof.indexOf('\n\n') + 2)
  const bodyOf = (proof: string) => proof.slice(0, proof.indexOf('\n\n') + 2)
  const extra = /extra \S+/
  const proofs: Record<string, readonly [proof: string, code: string]> = {
    'of another agent': [others, 'key-not-logged'],
    'of an entry that is not about a key': [await graded.proof(0), 'key-not-logged'],
    'with an entry that was never logged': [
      others.replace(extra, extra.exec(await forged.proof(0))?.[0] ?? ''),
      'log-proof-invalid',
    ],
    'by another key with the name of the log': [await forged.proof(0), 'log-not-accepted'],
    'at another place': [
      genuine.replace(`index ${index}`, `index ${Number(index) + 1}`),
      'log-proof-invalid',
    ],
    'under a forged checkpoint': [
      bodyOf(genuine) + checkpointOf(await forged.proof(0)),
      'log-not-accepted',
    ],
    empty: ['', 'log-proof-invalid'],
    'of garbage': ['\u0000\n\n'.repeat(500), 'log-proof-invalid'],
  }
  for (const [what, [proof, code]] of Object.entries(proofs)) {
    front.instead = textInstead(proof)
    assert.equal(await startShop(front).see(agent), `403 deny ${code}`, what)
  }
  // The control: the genuine proof on the same way, and a policy by which the forger's log counts.
  front.instead = textInstead(genuine)
  assert.equal(await startShop(front).see(agent), '200 allow owner-verified')
  front.instead = textInstead(await forged.proof(0))
  const gullible = { requireLogged: { policy: `log ${forger.verifierKey}\nquorum none\n` } }
  assert.equal(await startShop(front, gullible).see(agent), '200 allow owner-verified')
})

test('the checkpoint of a log that was rolled back does not cover the entry', async (t) => {
  const front = await startLogFront(t, service)
  const earlier = await (await fetch(`${service.url}/log/checkpoint`)).text()
  const { agent, did } = await signingAgent(service)
  const proof = await proofOf(service, did)
  front.instead = textInstead(proof.slice(0, proof.indexOf('\n\n') + 2) + earlier)
  assert.equal(await startShop(front).see(agent), '403 deny log-proof-invalid')
  front.instead = textInstead(proof)
  assert.equal(await startShop(front).see(agent), '200 allow owner-verified')
})

test('without the quorum of the policy, a proof does not count', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did } = await signingAgent(service)
  const proof = await proofOf(service, did)
  const witness = testNoteKey('witness.example', 'cosignature')
  const pretender = testNoteKey('witness.example', 'cosignature')
  const policy = logPolicy.replace('quorum none', `witness w ${witness.verifierKey}\nquorum w`)
  const rules = { requireLogged: { policy } }
  const { see, clock } = startShop(front, rules)
  assert.equal(await see(agent), '403 deny log-quorum-missing')
  front.instead = textInstead(cosigned(proof, pretender))
  clock.pass(RETRY_MS)
  assert.equal(await see(agent), '403 deny log-quorum-missing')
  front.instead = textInstead(cosigned(proof, witness))
  clock.pass(RETRY_MS)
  assert.equal(await see(agent), '200 allow owner-verified')
})

test('routes with different tlog-policies: each asks for its own', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did } = await signingAgent(service)
  const witness = testNoteKey('witness.example', 'cosignature')
  const strict = logPolicy.replace('quorum none', `witness w ${witness.verifierKey}\nquorum w`)
  const routes = [{ path: '/strict', requireLogged: { policy: strict } }]
  const proof = await proofOf(service, did)
  const { see, clock } = startShop(front, { routes })
  assert.equal(await see(agent), '200 allow owner-verified')
  assert.equal(await see(agent, '/strict'), '403 deny log-quorum-missing')
  assert.equal(await see(agent, '/a//strict'), '403 deny log-quorum-missing')
  front.instead = textInstead(cosigned(proof, witness))
  clock.pass(RETRY_MS)
  assert.equal(await see(agent, '/strict'), '200 allow owner-verified')
  // What one of the two has admitted once does not depend on later proofs.
  front.instead = textInstead('')
  clock.pass(RETRY_MS)
  assert.equal(await see(agent), '200 allow owner-verified')
  assert.equal(await see(agent, '/strict'), '200 allow owner-verified')
})

test('a service that names the thumbprint of a logged key beside another key is found out', async (t) => {
  const front = await startLogFront(t, service)
  const { did, key } = await signingAgent(service)
  await proofOf(service, did)
  const registry = new Registry(front.url, PATIENT_CLIENT)
  const minted = await newKey()
  const publicKey = Buffer.from(minted.publicKey).toString('base64')
  const lying = new Proxy(registry, {
    get(target, name) {
      if (name === 'agent') {
        return async (...args: Parameters<Registry['agent']>) => ({
          ...(await registry.agent(...args)),
          publicKey,
        })
      }
      const value = target[name as keyof Registry] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  assert.equal((await lying.agent(did)).keyThumbprint, keyThumbprint(key.publicKey))
  assert.ok(decodeKey(publicKey))
  const { visit } = startShop(front, { requireProof: false }, { service: lying })
  const { status, decision } = await visit({ ServiceID: did })
  assert.deepEqual([status, decision.reasons[0].code], [403, 'key-not-logged'])
  const honest = startShop(front, { requireProof: false })
  assert.equal((await honest.visit({ ServiceID: did })).status, 200)
})

test('an answer that is no proof, or too large, is not believed and not read to its end', async (t) => {
  const front = await startLogFront(t, service)
  const { agent } = await signingAgent(service)
  front.instead = (response) => response.end('<p>Sign in to this network.</p>')
  assert.equal(await startShop(front).see(agent), '503 deny log-unavailable')
  let [closed, written] = [0, 0]
  front.instead = (response) => {
    response.once('close', () => closed++)
    response.writeHead(200, { 'content-type': 'text/plain' })
    const more = (): unknown => {
      written += 16_384
      return response.destroyed || response.write('x'.repeat(16_384), () => setImmediate(more))
    }
    more()
  }
  assert.equal(await startShop(front).see(agent), '503 deny log-unavailable')
  await until(async () => closed === 1)
  // What fits into the buffers of a connection, and not what could be sent until the time-out.
  assert.ok(written < 64 * 1024 * 1024, `${written} bytes`)
})

test('a log that does not answer is asked once for all requests, and slows no other rule', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did } = await signingAgent(service)
  const proof = await proofOf(service, did)
  const held: (() => void)[] = []
  front.instead = (response) => held.push(() => textInstead(proof)(response))
  const routes = [{ path: '/open', requireLogged: null }]
  const { see } = startShop(front, { routes })
  const visits = Array.from({ length: 10 }, () => see(agent))
  await until(async () => held.length > 0)
  assert.equal(await see(agent, '/open'), '200 allow owner-verified')
  for (const release of held) release()
  for (const each of await Promise.all(visits)) assert.equal(each, '200 allow owner-verified')
  assert.deepEqual(front.proofs, [did])
})

test('after a time-out, the log is left alone for a second', async (t) => {
  const front = await startLogFront(t, service)
  const { agent } = await signingAgent(service)
  const { agent: another, did: anotherDid } = await signingAgent(service)
  await proofOf(service, anotherDid)
  front.instead = () => undefined
  const routes = [{ path: '/open', requireLogged: null }]
  const { see, clock } = startShop(front, { routes, cacheSeconds: 60 }, { timeoutMs: 500 })
  // Their lookups take as long as they take.
  for (const each of [agent, another]) {
    await until(async () => (await see(each, '/open')) === '200 allow owner-verified')
  }
  assert.equal(await see(agent), '503 deny log-unavailable')
  assert.equal(await see(another), '503 deny log-unavailable')
  assert.equal(front.proofs.length, 1)
  front.instead = null
  await until(async () => {
    clock.pass(RETRY_MS)
    return (await see(another)) === '200 allow owner-verified'
  })
})

test('a changed policy keeps what was verified by the same tlog-policies', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did } = await signingAgent(service)
  await proofOf(service, did)
  const registry = new Registry(front.url, PATIENT_CLIENT)
  const rules = { requireProof: true, requireLogged: { policy: logPolicy } }
  const options = { service: registry, issuer: service.url, audiences: [SHOP], timeoutMs: 30_000 }
  const decide = async (gate: Gate) => {
    const request = await agent.sign(`${SHOP}/`)
    const { decision } = await gate.decide({
      method: 'GET',
      target: '/',
      identification: request.headers.get('ServiceID'),
      authorization: null,
      address: () => null,
      preflight: false,
      signed: true,
      raw: () => ({
        method: 'GET',
        scheme: 'https',
        authority: 'shop.example',
        target: '/',
        headers: [...request.headers],
      }),
      readBody: null,
    })
    return decision.reasons[0].code
  }
  const nonces = olderNonceStore()
  const first = new Gate({ ...options, nonces, policy: rules })
  assert.equal(await decide(first), 'owner-verified')
  front.instead = errorInstead(404, 'NOT_FOUND')
  const second = new Gate({ ...options, nonces, policy: { ...rules, cacheSeconds: 1 } }, first)
  assert.equal(await decide(second), 'owner-verified')
  const policy = `${logPolicy}# another text\n`
  const third = new Gate(
    { ...options, nonces, policy: { ...rules, requireLogged: { policy } } },
    second,
  )
  assert.equal(await decide(third), 'key-not-logged')
})

test('an agent that signs nothing is judged by the key that the service names', async (t) => {
  const front = await startLogFront(t, service)
  const { agent, did } = await signingAgent(service)
  await proofOf(service, did)
  const { visit, see } = startShop(front, { requireProof: false })
  for (let i = 0; i < 3; i++) assert.equal((await visit({ ServiceID: did })).status, 200)
  assert.equal(await see(agent), '200 allow owner-verified')
  assert.deepEqual(front.proofs, [did])
  assert.equal((await visit(await headersOf(agent))).decision.proof, 'signature')
})
