import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import { openRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { until, untilTicked } from '../../../../../test/support/until.ts'

test('a read model with 3 of 20 agents in memory answers like one with all of them', async (t) => {
  const whole = await startTestService(t)
  const agents = await populate(whole)
  await whole.stop()
  const { DATA_DIR } = whole.env as { DATA_DIR: string }
  const answersOf = async (limit: string) => {
    const service = await startTestService(t, {
      DATA_DIR,
      READ_MODEL_AGENTS: limit,
      BASE_URL: 'https://x',
    })
    const answers = []
    for (const { did, key } of [...agents, ...agents.toReversed()]) {
      for (const reference of [did, did.slice(-24), encodeURIComponent(key.publicKey)]) {
        for (const path of [`/api/v1/agent/${reference}`, `/api/agents/${reference}`]) {
          answers.push(await (await fetch(service.url + path)).json())
        }
      }
    }
    const unknown = await fetch(`${service.url}/api/v1/agent/${'1'.repeat(24)}`)
    assert.equal(unknown.status, 404)
    await service.stop()
    return answers
  }
  assert.deepEqual(await answersOf('3'), await answersOf('1000'))
})

test('a read model that overflows while it runs still finds every agent', async (t) => {
  const service = await startTestService(t, { READ_MODEL_AGENTS: '3' })
  const agents = await populate(service)
  for (const { did, key } of agents) {
    const byKey = await lookup(service, encodeURIComponent(key.publicKey))
    assert.equal((await lookup(service, did)).certificate.id, did)
    assert.equal(byKey.certificate.id, did)
  }
})

test('changes by another process show: status, verification, expiry', async (t) => {
  const clock = { ahead: 0 }
  const service = await startTestService(t, {}, () => Date.now() + clock.ahead)
  const owner = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, owner)
  await lookup(service, did)

  await operate(service, 'agent', 'suspend', did)
  await until(async () => !(await lookup(service, did)).verified)
  await operate(service, 'agent', 'reactivate', did)
  await until(async () => (await lookup(service, did)).verified)
  await operate(service, 'owner', 'unverify', 'ada', '--provider', 'in-person')
  await until(async () => (await lookup(service, did)).owner.identityLevel === 'unverified')

  const soon = new Date(Date.now() + 120_000).toISOString()
  await operate(service, 'owner', 'verify', 'ada', '--provider', 'in-person', '--expires', soon)
  await until(async () => (await lookup(service, did)).owner.identityMethod === 'in-person')
  clock.ahead = Date.parse(soon) - Date.now()
  assert.equal((await lookup(service, did)).owner.identityMethod, null)
  const ended = ['owner.identity_expired', 'agent.grade_changed']
  await untilTicked(service, async () =>
    isDeepStrictEqual((await eventTypes(service)).slice(-2), ended),
  )
})

test('lookups fail while the read model cannot follow the events, and work again afterwards', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const status = async () => (await fetch(`${service.url}/api/v1/agent/${did}`)).status
  assert.equal(await status(), 200)
  const other = await openRaw(service.settings)
  t.after(() => other.close())
  await other.exec('ALTER TABLE events RENAME TO hidden')
  await until(async () => (await status()) === 503)
  await other.exec('ALTER TABLE hidden RENAME TO events')
  await until(async () => (await status()) === 200)
})

test('every state change has an event, numbered without gaps', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner('ada')
  const did = await claimAgent(service, owner)
  for (const change of ['suspend', 'reactivate', 'revoke'])
    await operate(service, 'agent', change, did)
  await operate(service, 'owner', 'unverify', 'ada', '--provider', 'in-person')
  assert.deepEqual(await eventTypes(service), [
    'owner.identity_verified',
    'agent.claimed',
    'agent.suspended',
    'agent.grade_changed',
    'agent.reactivated',
    'agent.grade_changed',
    'agent.revoked',
    'agent.grade_changed',
    'owner.identity_expired',
  ])
  const rows = await service.operator.db.read.selectFrom('events').selectAll().execute()
  assert.deepEqual(
    rows.map(({ seq }) => seq),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  )
  assert.ok(rows.every(({ payload }) => !/token|private|owner_id|subject|agentId/.test(payload)))
})

interface LookupAnswer {
  verified: boolean
  owner: { identityMethod: string | null; identityLevel: string }
  certificate: { id: string; status: string }
}

async function lookup(service: TestService, reference: string): Promise<LookupAnswer> {
  return (await (await fetch(`${service.url}/api/v1/agent/${reference}`)).json()) as LookupAnswer
}

async function populate(service: TestService): Promise<{ did: string; key: TestKey }[]> {
  const agents = []
  for (let i = 0; i < 20; i++) {
    const key = newKey()
    const owner = await service.operator.addVerifiedOwner(`holder-${i}-of-many`)
    agents.push({ did: await claimAgent(service, owner, key), key })
  }
  return agents
}

async function eventTypes(service: TestService): Promise<string[]> {
  const rows = await service.operator.db.read
    .selectFrom('events')
    .select('type')
    .orderBy('seq')
    .execute()
  return rows.map(({ type }) => type)
}

async function operate(service: TestService, ...args: string[]): Promise<void> {
  const { code, stderr } = await countersignd(service.env, ...args)
  assert.equal(code, 0, stderr)
}
