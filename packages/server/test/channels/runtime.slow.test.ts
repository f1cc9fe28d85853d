import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namingFor, parseChallenge, type RuntimeProof } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { setStatus } from '../../../../test/support/set-status.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import {
  DAY_MS,
  newRuntimeAgent,
  type RuntimeAgent,
  startWithRuntimeAgent,
} from './support/runtime-agent.ts'

const PLACE = { kind: 'runtime', handleOrDomain: 'home-server' }

async function proofOf(agent: RuntimeAgent): Promise<RuntimeProof> {
  const answer = await agent.answer()
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<RuntimeProof>(answer)
}

test('an answer signed with the agent’s key verifies its runtime for 30 days', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  const { clock, did } = agent
  const added = await agent.add('  Home-Server ')
  assert.deepEqual([added.handleOrDomain, added.state, added.tier], ['home-server', 'pending', 1])
  assert.deepEqual(added.proof?.methods.map(({ id }) => id).sort(), ['command', 'http'])

  clock.move(DAY_MS)
  const answer = await agent.answer()

  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const proven = { svcDid: did, ...PLACE, verifiedAt: clock.at(), checkedAt: clock.at() }
  assert.deepEqual(jsonOf(answer), { ...proven, freshUntil: clock.at(30 * DAY_MS), grade: 'B' })
  assert.deepEqual(await agent.events(), [
    ['channel.verified', PLACE],
    ['agent.grade_changed', { from: 'C', to: 'B' }],
  ])
  const { state, freshUntil, proof, checks } = await agent.channel()
  assert.deepEqual([state, freshUntil, proof], ['verified', clock.at(30 * DAY_MS), null])
  const seen = [
    { outcome: 'proven', name: 'the agent', detail: checks[0]?.perspectives[0]?.detail },
  ]
  assert.deepEqual(checks, [{ at: clock.at(), outcome: 'proven', perspectives: seen }])
  assert.doesNotMatch(JSON.stringify(checks), /127\.0\.0\.1|::1/, 'no address is kept')
  await untilTicked(agent.service, async () => (await agent.card()).grade === 'B')
  assert.deepEqual((await agent.card()).channels, [PLACE])
})

test('the service does not check runtimes: a requested check is refused, and no scheduled check fails', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  const { id, nextCheckAt } = await agent.add()
  assert.equal(nextCheckAt, null)
  await proofOf(agent)
  const owner = await agent.owner()
  const address = `/api/account/agents/${agent.did}/channels/${id}`
  assertRefused(await owner.post(`${address}/check`), 400, 'VALIDATION_ERROR', /agent itself/)
  const leases = () => agent.service.operator.db.read.selectFrom('channel_leases').selectAll()
  assert.deepEqual(
    (await leases().execute()).map(({ due_at, leased_by }) => [due_at, leased_by]),
    [[null, null]],
  )
  agent.clock.move(29 * DAY_MS)
  assert.equal((await agent.channel()).state, 'verified')
})

test('an answer a day or more after the last renews the channel; an earlier one only updates the check date', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  const { clock } = agent
  await agent.add()
  const first = await proofOf(agent)

  clock.move(DAY_MS - 1)
  assert.deepEqual(await proofOf(agent), { ...first, checkedAt: clock.at() })
  assert.equal((await agent.events()).length, 2, 'the channel and the grade, once')

  clock.move(1)
  const freshUntil = clock.at(30 * DAY_MS)
  const later = { ...first, verifiedAt: clock.at(), checkedAt: clock.at(), freshUntil }
  assert.deepEqual(await proofOf(agent), later)
  assert.deepEqual((await agent.events()).at(-1), ['channel.verified', PLACE])

  // The first 30 days have passed, so the read model must know the renewed expiry.
  clock.move(30 * DAY_MS - 1)
  assert.deepEqual((await agent.card()).channels, [PLACE])
  assert.equal((await agent.card()).grade, 'B')
})

test('a runtime is stale after 30 days without an answer, and one answer verifies it again', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  const { clock } = agent
  await agent.add()
  await proofOf(agent)
  clock.move(30 * DAY_MS)
  assert.deepEqual((await agent.card()).channels, [], 'from that moment on')
  assert.equal((await agent.channel()).state, 'stale')
  await untilTicked(agent.service, async () => (await agent.events()).length >= 4)
  assert.deepEqual((await agent.events()).slice(2), [
    ['channel.stale', { ...PLACE, reason: 'expired' }],
    ['agent.grade_changed', { from: 'B', to: 'C' }],
  ])

  clock.move(100 * DAY_MS)
  const proof = await proofOf(agent)

  assert.deepEqual([proof.freshUntil, proof.grade], [clock.at(30 * DAY_MS), 'B'])
  assert.deepEqual([(await agent.channel()).staleSince], [null])
  assert.deepEqual((await agent.events()).slice(4), [
    ['channel.verified', PLACE],
    ['agent.grade_changed', { from: 'C', to: 'B' }],
  ])
  clock.move(30 * DAY_MS)
  await untilTicked(agent.service, async () => (await agent.events()).length >= 8)
})

test('the first answer must come within 7 days, or the owner renews the channel', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  const { id } = await agent.add()
  agent.clock.move(7 * DAY_MS)
  const late = await unchanged(agent.service, async () => agent.answer())
  assertRefused(late, 410, 'TOKEN_EXPIRED', /Ask the owner to renew/)

  const owner = await agent.owner()
  await owner.post(`/api/account/agents/${agent.did}/channels/${id}/renew`)
  agent.clock.move(7 * DAY_MS - 1)
  await proofOf(agent)
})

test('after the owner requests a fresh proof, the next answer renews the channel, however soon', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  await agent.add()
  await proofOf(agent)
  agent.clock.move(1000)
  assert.notEqual((await agent.add()).proof, null)
  assert.equal((await proofOf(agent)).verifiedAt, agent.clock.at())
  assert.equal((await agent.channel()).proof, null)
})

test('concurrent answers are one proof and one event', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  await agent.add()
  const challenge = await agent.challenge()
  const answers = await Promise.all(Array.from({ length: 12 }, () => agent.answer(challenge)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.equal((await agent.events()).length, 2)
})

test('an agent has one runtime channel, and other agents may use the same name', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  await agent.add()
  await proofOf(agent)
  const owner = await agent.owner()
  const channels = `/api/account/agents/${agent.did}/channels`
  const second = await owner.post(channels, { kind: 'runtime', handleOrDomain: 'eu-west-1' })
  assertRefused(second, 400, 'VALIDATION_ERROR', /remove home-server first/)
  const names = ['one', 'two', 'three', 'four']
  const racer = await newRuntimeAgent(agent.service, agent.clock)
  const theirs = await racer.owner()
  const target = `/api/account/agents/${racer.did}/channels`
  const raced = await Promise.all(
    names.map((name) => theirs.post(target, { kind: 'runtime', handleOrDomain: name })),
  )
  assert.deepEqual(raced.map(({ status }) => status).sort(), [201, 400, 400, 400])
  for (const handleOrDomain of ['-a', 'a.', 'ä', 'a b', 'a/b', 'a\nb', 'a'.repeat(65)]) {
    const refused = await owner.post(channels, { kind: 'runtime', handleOrDomain })
    assertRefused(refused, 400, 'VALIDATION_ERROR', /1 to 64/)
  }

  const other = await newRuntimeAgent(agent.service, agent.clock)
  await other.add('home-server')
  await proofOf(other)
  assert.equal((await agent.channel()).state, 'verified', 'nothing is taken from anybody')
  const third = await newRuntimeAgent(agent.service, agent.clock)
  for (const name of ['a', 'a'.repeat(64), 'eu-west-1', '10.rack_7']) {
    const { id } = await third.add(name)
    const own = await third.owner()
    await own.send('DELETE', `/api/account/agents/${third.did}/channels/${id}`)
  }
})

test('a revoked agent cannot answer; a suspended one can, with the grade E', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  await agent.add()
  await setStatus(agent.service, agent.did, 'suspended')
  const { grade, freshUntil } = await proofOf(agent)
  assert.deepEqual([grade, freshUntil], ['E', agent.clock.at(30 * DAY_MS)])
  await setStatus(agent.service, agent.did, 'active')
  assert.deepEqual((await agent.events()).at(-1)?.[1], { from: 'E', to: 'B' })

  const challenge = await agent.challenge()
  await setStatus(agent.service, agent.did, 'revoked')
  const answer = await unchanged(agent.service, () => agent.answer(challenge))
  assertRefused(answer, 403, 'FORBIDDEN', /revoked/)
  const asked = await post(agent.service, `/api/agents/${agent.did}/runtime/challenge`, {})
  assertRefused(asked, 403, 'FORBIDDEN', /revoked/)
})

test('the challenge and the response use the deployment’s short name', async (t) => {
  const agent = await startWithRuntimeAgent(t, { SHORT_NAME: 'acme' })
  const added = await agent.add()
  assert.match(JSON.stringify(added.proof), /acme-challenge-v1:/)
  assert.doesNotMatch(JSON.stringify(added.proof), /svc/)
  const challenge = await agent.challenge()
  assert.equal(
    parseChallenge(namingFor('acme'), challenge)?.audience,
    agent.service.settings.baseUrl.origin,
  )
  const proof = jsonOf(await agent.answer(challenge))
  assert.equal(proof.acmeDid, agent.did)
})

test('the path accepts the agent’s DID, tail or key', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  await agent.add()
  const references = [agent.did, agent.did.slice(-24), encodeURIComponent(agent.key.publicKey)]
  for (const reference of references) {
    const address = `/api/agents/${reference}/runtime`
    const { challenge } = jsonOf(await post(agent.service, `${address}/challenge`, {}))
    const signature = agent.key.sign(challenge as string)
    const answer = await post(agent.service, address, { challenge, signature })
    assert.equal(answer.status, 200, answer.text)
  }
})

test('pages of any origin may request challenges and answer them, because only the signature counts', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  for (const target of [
    `/api/agents/${agent.did}/runtime/challenge`,
    `/api/agents/${agent.did}/runtime`,
  ]) {
    const preflight = await ask(agent.service, target, { method: 'OPTIONS' })
    assert.equal(preflight.status, 204)
    assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST, OPTIONS')
    const refused = await post(agent.service, target, { note: 'x' })
    assertRefused(refused, 400, 'VALIDATION_ERROR')
    assert.equal(refused.headers.get('access-control-allow-origin'), '*')
  }
})
