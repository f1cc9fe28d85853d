import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type CreatedApiKey, keyThumbprint } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  endDelegationsBody,
  endDelegationsWith,
  renounceWith,
  reportWith,
  rotateTo,
  type Signed,
} from '../../../../../test/support/key-operations.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { verifyBody } from '../../../../../test/support/refused-posts.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signInBy, TestClock } from '../../../../../test/support/sign-in-by.ts'
import { suspendOwner } from '../../../src/agents/manage/suspend-owner.ts'
import { AGENTS } from './with-agent.ts'
import { Delegations, ok } from './with-delegation.ts'

suite('delegation', () => {
  const clock = new TestClock()
  const ends: (() => unknown)[] = []
  let service: TestService
  let agents: Delegations
  before(async () => {
    const METRICS_PORT = String(await freePort())
    service = await startTestService(
      { after: (end) => ends.push(end) },
      { METRICS_PORT },
      clock.now,
    )
    agents = new Delegations(service, clock)
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  test('is allowed by the owner, and shows in the certificate and the agent object only', async () => {
    const agent = await agents.claimed()
    const { did } = agent
    const others = [
      `/api/v1/agent/${did}`,
      `/api/agents/${did}/card`,
      `/api/v1/agent/${did}/card`,
      `/agent/${did}/jwks.json`,
      `/agent/${did.replaceAll(':', '/')}/did.json`,
    ]
    const answers = () => Promise.all(others.map(async (path) => (await ask(service, path)).text))
    const objectDepth = async () =>
      jsonOf(await ask(service, `/api/agents/${did}`)).maxDelegationDepth
    const before = await answers()
    const plain = await agents.certificate(did)
    assert.equal(plain.depth, undefined, 'no claim: certificates of other agents keep their bytes')
    assert.equal(await objectDepth(), 0)

    const { changedAt, ...allowed } = await agents.allow(agent, 2)
    assert.deepEqual(allowed, { maxDepth: 2 })
    assert.ok(Math.abs(Date.parse(String(changedAt)) - clock.now()) < 60_000)
    await agents.untilCertified(did, 2)
    assert.equal(await objectDepth(), 2)
    assert.deepEqual(
      (await agents.certificate(did)).entry,
      plain.entry,
      'raising it keeps the entry',
    )
    assert.deepEqual(await answers(), before)
    assert.deepEqual(await unchanged(service, () => agents.allow(agent, 2)), {
      maxDepth: 2,
      changedAt: null,
    })
    for (const wrong of [4, -1, 1.5, '1', null]) {
      assertRefused(await agents.put(agent, wrong), 400, 'VALIDATION_ERROR')
    }
  })

  test('is raised with a recent sign-in only, and lowered with any', async () => {
    const agent = await agents.claimed(1)
    const { did } = agent
    const signedInAt = clock.now() - 11 * 60_000
    const owner = await signInBy(service, agent.owner.ownerId, clock.now, { signedInAt })
    assertRefused(await agents.put({ owner, did }, 2), 403, 'RECENT_SIGN_IN_REQUIRED')
    assert.equal((await agents.eventsOf(did)).length, 1, 'what was refused has changed nothing')
    ok(await agents.put({ owner, did }, 1))
    ok(await agents.put({ owner, did }, 0))
    const stranger = await signInBy(service, await service.operator.addVerifiedOwner(), clock.now)
    assertRefused(await agents.put({ owner: stranger, did }, 0), 404, 'NOT_FOUND')
    assertRefused(await agents.end({ ...agent, owner: stranger }), 404, 'NOT_FOUND')
  })

  test('is not raised by a suspended owner, nor for a revoked agent', async () => {
    const agent = await agents.claimed(1)
    const { did, owner } = agent
    await suspendOwner({ db: service.operator.db, now: clock.now }, owner.ownerId, null)
    assertRefused(await agents.put(agent, 2), 403, 'FORBIDDEN', /suspended this account/)
    ok(await agents.end(agent))
    ok(await agents.put(agent, 0))
    const other = await agents.claimed(1)
    await setStatus(service, other.did, 'revoked')
    assertRefused(await agents.put(other, 2), 409, 'AGENT_NOT_ACTIVE')
    assertRefused(await agents.end(other), 409, 'AGENT_NOT_ACTIVE')
    assertRefused(await agents.endBy(other), 409, 'AGENT_NOT_ACTIVE')
    assert.deepEqual(await agents.eventsOf(did), [
      { maxDepth: 1, ended: false, by: 'owner' },
      { maxDepth: 1, ended: true, by: 'owner' },
      { maxDepth: 0, ended: true, by: 'owner' },
    ])
  })

  test('ends with the entry of its certificates; the next one has another, with the claim', async () => {
    const agent = await agents.claimed(3)
    const { did, owner } = agent
    const first = await agents.certificate(did)
    assert.equal(first.depth, 3)
    const ended = jsonOf(ok(await agents.endBy(agent)))
    assert.equal(ended.svcDid, did)
    assert.ok(Math.abs(Date.parse(ended.endedAt as string) - clock.now()) < 60_000)
    await agents.assertFed(first.entry, [1])
    const second = await agents.certificate(did)
    assert.equal(second.depth, 3)
    assert.notDeepEqual(second.entry, first.entry)
    // A retry ends again.
    ok(await agents.endBy(agent))
    await agents.assertFed(second.entry, [1])
    const third = await agents.certificate(did)
    ok(await agents.end(agent))
    await agents.assertFed(third.entry, [1])
    // Without a certificate since, there is an event, and nothing in the feed.
    ok(await agents.end(agent))
    const by = (who: string) => ({ maxDepth: 3, ended: true, by: who })
    const raised = { maxDepth: 3, ended: false, by: 'owner' }
    assert.deepEqual(await agents.eventsOf(did), [
      raised,
      ...[by('agent'), by('agent'), by('owner'), by('owner')],
    ])
    assert.equal(await agents.notificationsOf(owner), 2, 'the owner knows what their session did')
    const path = `${AGENTS}/${did}/history?type=agent.delegation_changed`
    const { events } = jsonOf<{ events: { facts: unknown }[] }>(await owner.get(path))
    assert.deepEqual(events.map(({ facts }) => facts).toReversed(), await agents.eventsOf(did))
  })

  test('ends with a lower depth, also while the agent is suspended', async () => {
    const agent = await agents.claimed(3)
    const { did, owner } = agent
    const first = await agents.certificate(did)
    await agents.allow(agent, 1)
    await agents.assertFed(first.entry, [1])
    await agents.untilCertified(did, 1)
    const second = await agents.certificate(did)
    await setStatus(service, did, 'suspended')
    await agents.allow(agent, 0)
    await agents.assertFed(second.entry, [2, 1])
    // As deep as before: what was delegated before stays refused.
    await agents.allow(agent, 1)
    await setStatus(service, did, 'active')
    await agents.untilCertified(did, 1)
    await agents.assertFed(second.entry, [2, 1])
    const third = await agents.certificate(did)
    assert.notDeepEqual(third.entry, second.entry)
    await setStatus(service, did, 'suspended')
    ok(await agents.end({ ...agent, owner }))
    await setStatus(service, did, 'active')
    await agents.assertFed(third.entry, [2, 1])
  })

  test('changes nothing for an agent that may not delegate', async () => {
    const agent = await agents.claimed()
    const { entry } = await agents.certificate(agent.did)
    for (const send of [() => agents.endBy(agent), () => agents.end(agent)]) {
      const answer = ok(await unchanged(service, send))
      assert.equal(jsonOf(answer).endedAt, null)
    }
    assert.deepEqual((await agents.certificate(agent.did)).entry, entry)
  })

  test('is ended by a signature of the current key over exactly that', async () => {
    const agent = await agents.claimed(1)
    const { did, key } = agent
    const { issuedAt } = clock.signed
    const good = endDelegationsBody(service, did, { old: key, sequence: 1 }, { issuedAt })
    const signed = (changed: Partial<Signed>) =>
      endDelegationsBody(service, did, { old: key, sequence: 1 }, { issuedAt, ...changed })
    const other = await agents.claimed(1)
    const refused: [body: object, status: number, code: Parameters<typeof assertRefused>[2]][] = [
      [{ ...good, signature: 'AA==' }, 400, 'VALIDATION_ERROR'],
      [{ ...good, sequence: 0 }, 400, 'VALIDATION_ERROR'],
      [{ ...good, by: 'agent' }, 400, 'VALIDATION_ERROR'],
      [signed({ issuedAt: issuedAt - 400 }), 400, 'VALIDATION_ERROR'],
      [signed({ issuedAt: issuedAt + 400 }), 400, 'VALIDATION_ERROR'],
      [signed({ operation: 'renounce' }), 401, 'INVALID_SIGNATURE'],
      [signed({ first: 0x20 }), 401, 'INVALID_SIGNATURE'],
      [signed({ version: 'v2' }), 401, 'INVALID_SIGNATURE'],
      [signed({ service: 'https://elsewhere.example' }), 401, 'INVALID_SIGNATURE'],
      [signed({ did: other.did }), 401, 'INVALID_SIGNATURE'],
      [{ ...good, issuedAt: issuedAt - 1 }, 401, 'INVALID_SIGNATURE'],
      [signed({ old: other.key }), 401, 'INVALID_SIGNATURE'],
      [{ ...signed({ sequence: 2 }), sequence: 2 }, 409, 'CONFLICT'],
    ]
    const send = (body: object) =>
      ask(service, `/api/v1/agent/${did}/delegation/end`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    for (const [body, status, code] of refused) {
      assertRefused(await unchanged(service, () => send(body)), status, code)
    }
    const unknown = { ...agent, did: `svc:agent:${'1'.repeat(24)}` }
    assertRefused(await agents.endBy(unknown), 404, 'NOT_FOUND')
    assertRefused(await agents.endBy({ ...agent, did: 'nonsense' }), 400, 'VALIDATION_ERROR')
    const answer = ok(await send(good))
    assert.equal(answer.headers.get('cache-control'), 'no-store')

    const next = newKey()
    ok(await rotateTo(service, did, { old: key, next, sequence: 2 }, clock.signed))
    assertRefused(await agents.endBy(agent), 401, 'INVALID_SIGNATURE')
    const current = { old: next, sequence: 2 }
    ok(await endDelegationsWith(service, did, current, clock.signed))
    ok(await renounceWith(service, did, current, clock.signed))
    const renounced = await endDelegationsWith(service, did, current, clock.signed)
    assertRefused(renounced, 409, 'CONFLICT', /renounced/)
    ok(await agents.end(agent))
    const burned = await agents.claimed(1)
    ok(await burned.owner.post(`${AGENTS}/${burned.did}/keys/compromised`, { sequence: 1 }))
    assertRefused(await agents.endBy(burned), 403, 'FORBIDDEN', /compromised/)
  })

  test('needs a scope of an API key: agents:write to allow it, agents:status to end it', async () => {
    const agent = await agents.claimed()
    const { did, owner } = agent
    const path = `${AGENTS}/${did}/delegation`
    const withKey = async (scopes: readonly string[]) => {
      const created = await owner.post('/api/account/api-keys', { name: 'CI', scopes })
      const { secret } = jsonOf<CreatedApiKey>(created)
      return (method: string, target: string, body: object = {}) =>
        ask(service, target, {
          method,
          headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
    }
    const write = await withKey(['agents:write'])
    const status = await withKey(['agents:status'])
    ok(await write('PUT', path, { maxDepth: 1 }))
    assert.equal(await agents.notificationsOf(owner), 1)
    assertRefused(await write('POST', `${path}/end`), 403, 'FORBIDDEN')
    assertRefused(await status('PUT', path, { maxDepth: 0 }), 403, 'FORBIDDEN')
    ok(await status('POST', `${path}/end`))
    ok(await write('PUT', path, { maxDepth: 0 }))
    assert.equal(await agents.notificationsOf(owner), 3)
    const answer = await owner.get('/api/account/notifications')
    const { notifications } = jsonOf<{ notifications: { title: string; kind: string }[] }>(answer)
    const titles = notifications
      .filter(({ kind }) => kind === 'agent_delegation_changed')
      .map(({ title }) => title.split(': ')[1])
    assert.deepEqual(titles, [
      'may no longer delegate',
      'all delegations ended',
      'may delegate up to 1 level',
    ])
  })

  test('makes the key of a delegate known nowhere', async () => {
    const agent = await agents.claimed(3)
    const { did } = agent
    const delegate = newKey()
    const unknown = [
      post(service, '/api/v1/agent/verify', verifyBody(delegate)),
      post(service, '/api/v1/agent/verify', { ...verifyBody(delegate), svcDid: did }),
      ask(service, `/api/v1/agent/${encodeURIComponent(delegate.publicKey)}`),
      ask(service, `/api/v1/keys/${keyThumbprint(Buffer.from(delegate.publicKey, 'base64'))}`),
    ]
    for (const answer of unknown) assertRefused(await answer, 404, 'NOT_FOUND')
    const old = { old: delegate, sequence: 1 }
    for (const answer of [
      await endDelegationsWith(service, did, old, clock.signed),
      await renounceWith(service, did, old, clock.signed),
      await reportWith(service, did, old, clock.signed),
      await rotateTo(service, did, { old: delegate, next: newKey(), sequence: 2 }, clock.signed),
    ]) {
      assertRefused(answer, 401, 'INVALID_SIGNATURE')
    }
  })

  test('counts what ended, by whom', async () => {
    const agent = await agents.claimed(2)
    const count = async (by: string) => {
      const metrics = await fetch(`http://localhost:${service.env.METRICS_PORT}/metrics`)
      const name = `countersign_delegations_ended_total{by="${by}"} `
      return Number((await metrics.text()).split(`\n${name}`)[1]?.split('\n')[0])
    }
    const before = [await count('agent'), await count('owner')] as const
    ok(await agents.endBy(agent))
    ok(await agents.end(agent))
    ok(await agents.put(agent, 1))
    ok(await agents.put(agent, 0))
    ok(await agents.end(agent))
    // The last one ended nothing.
    assert.deepEqual([await count('agent'), await count('owner')], [before[0] + 1, before[1] + 3])
  })
})
