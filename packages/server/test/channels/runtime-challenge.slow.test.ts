import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { formatChallenge, namingFor, parseChallenge } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { FORGERIES } from '../../../../test/support/tampering.ts'
import { readCases } from '../../../../test/support/vector-files.ts'
import {
  MINUTE_MS,
  newRuntimeAgent,
  type RuntimeAgent,
  startWithRuntimeAgent,
} from './support/runtime-agent.ts'

const naming = namingFor()

/** An agent whose owner has added its runtime channel. */
async function startBegun(t: Parameters<typeof startTestService>[0]): Promise<RuntimeAgent> {
  const agent = await startWithRuntimeAgent(t)
  await agent.add()
  return agent
}

async function assertStillGood(agent: RuntimeAgent): Promise<void> {
  const answer = await agent.answer()
  assert.equal(answer.status, 200, answer.text)
}

/** Asserts that a challenge is refused although the agent's key has signed it, and that nothing is written. */
async function assertNotOurs(agent: RuntimeAgent, challenge: string, why?: RegExp): Promise<void> {
  const answer = await unchanged(agent.service, () => agent.answer(challenge))
  assertRefused(answer, 400, 'VALIDATION_ERROR', why)
}

function nonceIn(challenge: string): string {
  return challenge.slice(challenge.lastIndexOf(':') + 1)
}

test('requesting a challenge writes nothing, and every challenge is different', async (t) => {
  const agent = await startBegun(t)
  const target = `/api/agents/${agent.did}/runtime/challenge`
  const challenges = new Set<string>()
  for (let i = 0; i < 20; i++) {
    const answer = await unchanged(agent.service, () => post(agent.service, target, {}))
    const { challenge, expiresAt } = jsonOf<{ challenge: string; expiresAt: string }>(answer)
    assert.equal(expiresAt, agent.clock.at(5 * MINUTE_MS))
    assert.equal(parseChallenge(naming, challenge)?.audience, agent.service.url)
    challenges.add(challenge)
  }
  assert.equal(challenges.size, 20)
})

test('a challenge can be answered for 5 minutes, also repeatedly', async (t) => {
  const agent = await startBegun(t)
  const challenge = await agent.challenge()
  agent.clock.move(5 * MINUTE_MS - 1)
  assert.equal((await agent.answer(challenge)).status, 200)
  assert.equal((await agent.answer(challenge)).status, 200, 'a response may have been lost')
  agent.clock.move(1)
  const late = await unchanged(agent.service, () => agent.answer(challenge))
  assertRefused(late, 410, 'TOKEN_EXPIRED', /expired after 5 minutes/)
  await assertStillGood(agent)
})

test('a nonce with any character changed is refused', async (t) => {
  const agent = await startBegun(t)
  const challenge = await agent.challenge()
  const start = challenge.length - nonceIn(challenge).length
  for (let at = start; at < challenge.length; at++) {
    const letter = challenge[at] === 'A' ? 'B' : 'A'
    const changed = challenge.slice(0, at) + letter + challenge.slice(at + 1)
    await assertNotOurs(agent, changed, /is for another agent/)
  }
  assert.equal((await agent.answer(challenge)).status, 200)
})

test('the expiry in a nonce cannot be changed', async (t) => {
  const agent = await startBegun(t)
  const bytes = Buffer.from(nonceIn(await agent.challenge()), 'base64url')
  const end = bytes.readUIntBE(0, 6)
  assert.equal(end, agent.clock.time + 5 * MINUTE_MS)
  bytes.writeUIntBE(end + 1, 0, 6)
  const audience = agent.service.url
  const longer = formatChallenge(naming, { audience, nonce: bytes.toString('base64url') })
  await assertNotOurs(agent, longer, /is for another agent/)
})

test('a nonce with another MAC, or none, is refused', async (t) => {
  const agent = await startBegun(t)
  const audience = agent.service.url
  const said = Buffer.from(nonceIn(await agent.challenge()), 'base64url').subarray(0, 22)
  const text = `${agent.did}|${audience}|${said.toString('hex')}`
  const macs = [
    Buffer.alloc(32),
    randomBytes(32),
    createHmac('sha256', '').update(text).digest(),
    createHmac('sha256', Buffer.alloc(32)).update(text).digest(),
  ]
  for (const mac of macs) {
    const nonce = Buffer.concat([said, mac]).toString('base64url')
    await assertNotOurs(agent, formatChallenge(naming, { audience, nonce }), /another agent/)
  }
  for (const length of [16, 22, 53, 55, 96]) {
    const nonce = randomBytes(length).toString('base64url')
    await assertNotOurs(
      agent,
      formatChallenge(naming, { audience, nonce }),
      /not a challenge of this/,
    )
  }
  await assertStillGood(agent)
})

test('a challenge is valid for one agent only, even if one key has two agents', async (t) => {
  const agent = await startBegun(t)
  const other = await newRuntimeAgent(agent.service, agent.clock)
  await assertNotOurs(agent, await other.challenge(), /is for another agent/)
  await other.add()
  const theirs = await other.challenge()
  const relayed = await unchanged(agent.service, () => other.answer(theirs, agent.key.sign(theirs)))
  assertRefused(relayed, 401, 'INVALID_SIGNATURE')
})

test('a challenge of another deployment is refused, even with the same base URL', async (t) => {
  const agent = await startBegun(t)
  const twin = await startTestService(t, { BASE_URL: agent.service.url }, agent.clock.now)
  const stranger = await startTestService(t, {}, agent.clock.now)
  for (const [service, why] of [
    [twin, /is for another agent/],
    [stranger, /not a challenge of this service/],
  ] as const) {
    const there = await newRuntimeAgent(service, agent.clock)
    await assertNotOurs(agent, await there.challenge(), why)
  }
  await assertStillGood(agent)
})

test('a challenge of any other form is refused', async (t) => {
  const agent = await startBegun(t)
  const nonce = nonceIn(await agent.challenge())
  const { origin, host } = new URL(agent.service.url)
  const texts = [
    `acme-challenge-v1:${origin}:${nonce}`,
    `svc-challenge-v2:${origin}:${nonce}`,
    `svc-challenge-v1:https://${host}:${nonce}`,
    `svc-challenge-v1:http://127.0.0.1:1:${nonce}`,
    `svc-challenge-v1:${origin}/:${nonce}`,
    `svc-challenge-v1:${origin}:${nonce}\n`,
    ` svc-challenge-v1:${origin}:${nonce}`,
    nonce,
    'hello',
    `svc-verify-${'0'.repeat(32)}|main`,
    ...readCases<{ text: string }>('named-challenge.json', 'invalid').map(({ text }) => text),
  ]
  for (const text of texts) await assertNotOurs(agent, text)
  await assertStillGood(agent)
})

test('only a signature by the agent’s key over the exact challenge is accepted', async (t) => {
  const agent = await startBegun(t)
  const challenge = await agent.challenge()
  const good = agent.key.sign(challenge)
  const signatures = [
    newKey().sign(challenge),
    agent.key.sign(`${challenge}\n`),
    agent.key.sign(await agent.challenge()),
    agent.key.sign(nonceIn(challenge)),
    ...FORGERIES.map(({ of }) => of(good)),
  ]
  for (const signature of signatures) {
    const answer = await unchanged(agent.service, () => agent.answer(challenge, signature))
    assertRefused(answer, 401, 'INVALID_SIGNATURE')
  }
  for (const signature of ['', good.slice(0, -1), good.replace('==', ''), `${good}\n`]) {
    const body = { challenge, signature }
    const answer = await post(agent.service, `/api/agents/${agent.did}/runtime`, body)
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
  assert.equal((await agent.answer(challenge, good)).status, 200)
})

test('checks run in order: form, agent, challenge, signature, channel', async (t) => {
  const agent = await startWithRuntimeAgent(t)
  const challenge = await agent.challenge()
  const bad = newKey().sign(challenge)
  const nobody = `/api/agents/svc:agent:${'1'.repeat(24)}/runtime`
  const malformed = await post(agent.service, nobody, { challenge: 'hello', signature: bad })
  assertRefused(malformed, 400, 'VALIDATION_ERROR', /not a challenge of this service/)
  assertRefused(await post(agent.service, nobody, { challenge, signature: bad }), 404, 'NOT_FOUND')
  assertRefused(await post(agent.service, `${nobody}/challenge`, {}), 404, 'NOT_FOUND')
  const nameless = await post(agent.service, '/api/agents/x/runtime', { challenge, signature: bad })
  assertRefused(nameless, 400, 'VALIDATION_ERROR')

  agent.clock.move(5 * MINUTE_MS)
  assertRefused(await agent.answer(challenge, bad), 410, 'TOKEN_EXPIRED')
  const next = await agent.challenge()
  assertRefused(await agent.answer(next, bad), 401, 'INVALID_SIGNATURE')
  const none = await unchanged(agent.service, () => agent.answer(next))
  assertRefused(none, 404, 'NOT_FOUND', /Ask the owner to add one/)
})
