import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { formatCheckpoint } from '@countersign/protocol'
import { Agent, newKey, Registry } from '@countersign/sdk'
import { logKey, readCheckpoint } from '../../../test/support/log-client.ts'
import { PATIENT_CLIENT } from '../../../test/support/patient-client.ts'
import { startTestService, tempDir } from '../../../test/support/service.ts'
import { keyEntry, testLog, testNoteKey } from '../../../test/support/test-log.ts'
import { untilTicked } from '../../../test/support/until.ts'
import type { Decision } from '../src/decision/decision.ts'
import { gateway } from '../src/fetch.ts'
import type { WhenUnreachable } from '../src/policy/policy.ts'
import { Clock } from './support/clock.ts'
import { fetchGateway } from './support/fetch-gateway.ts'
import { runGatewayCommand, startGateway } from './support/gateway-process.ts'
import { startIssuerSite } from './support/issuer-site.ts'
import { logPolicyOf, proofOf, startLogFront, textInstead } from './support/log-front.ts'
import { offlineAgent, startOfflineSite } from './support/offline.ts'
import { olderNonceStore, SHOP, send, signingAgent } from './support/signing.ts'

test('a log that is halted: `unreachable` decides for new keys, and known ones stay admitted', async (t) => {
  const service = await startTestService(t)
  const { agent: known, did } = await signingAgent(service)
  await proofOf(service, did)
  const policy = await logPolicyOf(service)
  const clock = new Clock()
  const shopThat = (unreachable: WhenUnreachable) => {
    const rules = { requireProof: true, requireLogged: { policy }, unreachable }
    const visit = fetchGateway({
      service: service.url,
      audiences: [SHOP],
      nonces: olderNonceStore(),
      policy: rules,
      now: clock.now,
    })
    return async (agent: Agent) => {
      const { status, decision } = await visit(
        Object.fromEntries((await agent.sign(`${SHOP}/`)).headers),
      )
      return `${status} ${decision.action} ${decision.reasons[0].code}`
    }
  }
  const see = shopThat('deny')
  assert.equal(await see(known), '200 allow owner-verified')

  // The anchor has seen more than the database has now, as after a restored backup.
  const { checkpoint } = await readCheckpoint(`${service.url}/log`, await logKey(service.url))
  const ahead = formatCheckpoint({ ...checkpoint, size: checkpoint.size + 100 })
  writeFileSync(join(service.settings.dataDir, 'log-head'), ahead)
  await untilTicked(
    service,
    async () => (await fetch(`${service.url}/log/checkpoint`)).status === 503,
  )

  const { agent: fresh } = await signingAgent(service)
  clock.pass(60_000)
  assert.equal(await see(known), '200 allow owner-verified')
  assert.equal(await see(fresh), '503 deny log-unavailable')
  assert.equal(await shopThat('stale')(known), '503 deny log-unavailable')
  assert.equal(await shopThat('flag')(fresh), '200 flag log-unavailable')
  assert.equal(await shopThat('allow')(fresh), '200 allow log-unavailable')
})

test('an agent with a certificate: after the first request, none reaches the service', async (t) => {
  const service = await startTestService(t)
  const front = await startLogFront(t, service)
  const registry = new Registry(service.url, PATIENT_CLIENT)
  const options = { registry, audiences: [SHOP], certificates: true }
  const agent = new Agent({ ...options, signer: await newKey() })
  const owner = await service.operator.addVerifiedOwner()
  const { did } = await agent.claim(await service.operator.issueToken(owner))
  await proofOf(service, did)
  const asked: string[] = []
  const counting = new Registry(front.url, {
    ...PATIENT_CLIENT,
    fetch: (input, init) => {
      asked.push(new URL(String(input)).pathname)
      return fetch(input, init)
    },
  })
  const policy = {
    requireProof: true,
    requireLogged: { policy: await logPolicyOf(service) },
    trust: [{ issuer: service.url, didPrefix: 'svc:agent:' }],
  }
  let source: Decision['source'] = null
  const protect = gateway({
    service: counting,
    issuer: service.url,
    audiences: [SHOP],
    nonces: olderNonceStore(),
    policy,
    timeoutMs: 30_000,
    onDecision: (decision) => {
      source = decision.source
    },
  })
  t.after(() => protect.close())
  const handler = protect(() => new Response('admitted'))
  const see = async () => {
    const { status } = await handler(await agent.sign(`${SHOP}/`))
    return [status, source === 'certificate' || source === 'staple']
  }
  assert.deepEqual(await see(), [200, true])
  assert.deepEqual(asked, [`/log/proof/${encodeURIComponent(did)}`])
  await service.stop()
  assert.deepEqual(await see(), [200, true])
  assert.deepEqual(front.proofs, [did])
})

test('the proof of an agent of another issuer comes from that issuer', async (t) => {
  const own = await startIssuerSite(t)
  const partner = await startIssuerSite(t)
  const agent = offlineAgent(partner.origin, 1, { shortName: 'partner' })
  const certificate = await partner.issuer.certificate(agent)
  const keyThumbprint = agent.signer.keyid
  const logKey = testNoteKey('partner.example/log/1')
  const log = testLog(logKey)
  log.add(keyEntry({ did: agent.did, keyThumbprint, keySequence: 1 }))
  const proof = await log.proof(0)
  const path = `/log/proof/${encodeURIComponent(agent.did)}`
  const requireLogged = { policy: `log ${logKey.verifierKey}\nquorum none\n` }
  const site = startOfflineSite(t, [own, { ...partner, didPrefix: 'partner:agent:' }], {
    policy: { requireLogged },
  })
  const see = async () => (await site.visit(agent, { certificate })).reasons[0]
  await partner.untilFollowed()
  partner.instead.set(path, (_request, response) => textInstead(proof)(response))
  assert.equal(await see(), 'owner-verified')
  const times = () =>
    [own, partner].map(({ asked }) => asked.filter((each) => each === path).length)
  assert.deepEqual(times(), [0, 1])
  assert.equal(await see(), 'owner-verified')
  assert.deepEqual(times(), [0, 1])
  await site.close()

  // The control: a partner whose log does not have the key.
  partner.instead.delete(path)
  const another = startOfflineSite(t, [own, { ...partner, didPrefix: 'partner:agent:' }], {
    policy: { requireLogged },
  })
  assert.equal((await another.visit(agent, { certificate })).reasons[0], 'key-not-logged')
})

test('countersign-gateway reads the tlog-policy from a file', async (t) => {
  const service = await startTestService(t)
  const { agent, did } = await signingAgent(service)
  await proofOf(service, did)
  const policyFile = join(tempDir(t), 'log-policy.txt')
  writeFileSync(policyFile, await logPolicyOf(service))
  const routes = [{ path: '/logged', requireLogged: { policyFile } }]
  const gate = await startGateway(t, {
    service: service.url,
    audiences: [SHOP],
    policy: { requireProof: true, routes },
  })
  const asked = { 'X-Forwarded-Method': 'GET', 'X-Forwarded-Uri': '/logged' }
  const origin = { 'X-Forwarded-Host': 'shop.example', 'X-Forwarded-Proto': 'https' }
  const ask = async (each: Agent) => {
    const headers = { ...asked, ...origin }
    return send(gate.url, await each.sign(`${SHOP}/logged`), { target: '/auth/forward', headers })
  }
  assert.equal((await ask(agent)).status, 200)

  const file = join(tempDir(t), 'gateway.json')
  const check = async (requireLogged: object) => {
    const config = {
      service: service.url,
      policy: { requireLogged, routes: [{ path: '/x', requireLogged }] },
    }
    writeFileSync(file, JSON.stringify(config))
    return runGatewayCommand('--config', file, '--check')
  }
  assert.equal((await check({ policyFile })).code, 0)
  const none = await check({ policyFile: `${policyFile}.none` })
  assert.equal(none.code, 2)
  assert.match(none.stderr, /policy\.requireLogged\.policyFile: ENOENT/)
  assert.match(none.stderr, /policy\.routes\[0\]\.requireLogged\.policyFile: ENOENT/)
  assert.match((await check({ policyFile: 1 })).stderr, /policyFile must be the name of a file/)
  assert.match((await check({ policyFile, policy: 'x' })).stderr, /cannot be combined/)
  writeFileSync(policyFile, 'log x\n')
  assert.match((await check({ policyFile })).stderr, /Line 1 of the policy: the key of the log/)
})
