import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { AgentStatus, Grade } from '@countersign/protocol'
import { certificateOf } from '../../../../../test/support/agent-certificates.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { freePort } from '../../../../../test/support/ports.ts'
import { POSTGRES_ONLY } from '../../../../../test/support/postgres.ts'
import { withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  type Operator,
  openOperator,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import {
  fedStatuses,
  listedStatus,
  type Reference,
  referenceIn,
} from '../../../../../test/support/status-feed.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { deleteVerification } from '../../../src/accounts/identity/write-verification-table.ts'
import { agentByTail, setGrade, updateStatus } from '../../../src/agents/agent-table.ts'
import {
  insertCompromisedKey,
  replaceCurrentKey,
} from '../../../src/agents/keys/agent-key-table.ts'
import type { AgentRow, Tx } from '../../../src/database/database.ts'
import { appendEvent, type EventType } from '../../../src/database/event-table.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'

/** Changes an agent as the release before does: its rows and its events, but no status entry. */
async function asBefore(
  operator: Operator,
  did: string,
  change: (tx: Tx, agent: AgentRow, append: Append) => Promise<void>,
): Promise<void> {
  await operator.db.write(async (tx) => {
    const agent = (await agentByTail(tx.db, did.slice(-24))) as AgentRow
    const { tail, owner_id: ownerId } = agent
    await change(tx, agent, async (type, payload) => {
      const seq = tx.nextSeq()
      await appendEvent(tx, { seq, at: Date.now(), type, tail, ownerId, payload })
      return seq
    })
  })
}

type Append = (type: EventType, payload: object) => Promise<number>

const EVENTS = {
  active: 'agent.reactivated',
  suspended: 'agent.suspended',
  revoked: 'agent.revoked',
} as const

async function changeStatus(tx: Tx, agent: AgentRow, append: Append, to: AgentStatus) {
  const { tail, status: from, grade } = agent
  const version = await append(EVENTS[to], { status: to, reason: null })
  const by = { reason: null, setBy: 'operator', at: Date.now() } as const
  await updateStatus(tx, { tail, from, to, ...by, version })
  const regraded: Grade = to === 'active' ? 'C' : 'E'
  if (regraded === grade) return
  const seq = await append('agent.grade_changed', { from: grade, to: regraded })
  await setGrade(tx, { tail, grade: regraded, version: seq })
}

const setBefore = (operator: Operator, did: string, to: AgentStatus) =>
  asBefore(operator, did, (tx, agent, append) => changeStatus(tx, agent, append, to))

async function rotateBefore(operator: Operator, did: string): Promise<void> {
  await asBefore(operator, did, async (tx, agent, append) => {
    const version = await append('agent.key_rotated', { keySequence: agent.key_sequence + 1 })
    const publicKey = Buffer.from(newKey().publicKey, 'base64')
    await replaceCurrentKey(tx, agent, {
      publicKey,
      changedBy: 'rotation',
      at: Date.now(),
      version,
    })
  })
}

async function burnBefore(operator: Operator, did: string): Promise<void> {
  await asBefore(operator, did, async (tx, agent, append) => {
    await changeStatus(tx, agent, append, 'suspended')
    await insertCompromisedKey(tx, agent, Date.now())
    await append('agent.key_compromised', { keySequence: agent.key_sequence })
  })
}

async function loseVerificationBefore(operator: Operator, ownerId: number, provider: string) {
  await operator.db.write(async (tx) => {
    await deleteVerification(tx, ownerId, provider)
    const [seq, payload] = [tx.nextSeq(), { provider, reason: 'removed' }]
    const event = { seq, at: Date.now(), type: 'owner.identity_expired', tail: null } as const
    await appendEvent(tx, { ...event, ownerId, payload })
  })
}

const verifyAs = ({ operator, settings }: TestService, ownerId: number, provider: string) =>
  verifyOwner(
    { db: operator.db, now: Date.now, pepper: loadPepper(settings.dataDir) },
    ownerId,
    ...[
      {
        provider,
        issuer: 'host',
        subject: String(ownerId),
        assurance: 'substantial',
        expiresAt: null,
      } as const,
    ],
  )

const certify = async (service: TestService, did: string) =>
  referenceIn(await certificateOf(service, did))

async function certified(service: TestService, ownerId?: number) {
  const owner = ownerId ?? (await service.operator.addVerifiedOwner())
  const did = await claimAgent(service, owner, newKey())
  return { did, ownerId: owner, entry: await certify(service, did) }
}

/** Waits until the list says so; then the feed must have said exactly this about the entry. */
async function assertRepaired(service: TestService, entry: Reference, expected: number[]) {
  const isListed = async () => (await listedStatus(service, entry)) === expected.at(-1)
  await untilTicked(service, isListed)
  assert.deepEqual(await fedStatuses(service, entry), expected)
}

/** One agent for each change that the release before can make, what the feed must say of it, and one that nobody changes. */
async function changeAllBefore(operator: Operator, agents: Agents) {
  const { suspended, back, revoked, rotated, burned, two } = agents
  await setBefore(operator, suspended.did, 'suspended')
  await setBefore(operator, back.did, 'active')
  await setBefore(operator, revoked.did, 'revoked')
  await rotateBefore(operator, rotated.did)
  await burnBefore(operator, burned.did)
  await loseVerificationBefore(operator, two.ownerId, 'in-person')
}

async function certifyAll(service: TestService) {
  const two = await certified(service)
  const twin = await certified(service, two.ownerId)
  await verifyAs(service, two.ownerId, 'another')
  const back = await certified(service)
  await setBefore(service.operator, back.did, 'suspended')
  await assertRepaired(service, back.entry, [2])
  return {
    ...{ two, twin, back },
    suspended: await certified(service),
    revoked: await certified(service),
    rotated: await certified(service),
    burned: await certified(service),
    untouched: await certified(service),
  }
}

type Agents = Awaited<ReturnType<typeof certifyAll>>

async function assertAllRepaired(service: TestService, agents: Agents) {
  await assertRepaired(service, agents.suspended.entry, [2])
  await assertRepaired(service, agents.back.entry, [2, 0])
  await assertRepaired(service, agents.revoked.entry, [1])
  await assertRepaired(service, agents.rotated.entry, [1])
  await assertRepaired(service, agents.burned.entry, [1])
  await assertRepaired(service, agents.two.entry, [1])
  await assertRepaired(service, agents.twin.entry, [1])
  const next = await certify(service, agents.rotated.did)
  assert.notDeepEqual(next, agents.rotated.entry)
  assert.equal(await listedStatus(service, next), 0)
  assert.deepEqual(await certify(service, agents.untouched.did), agents.untouched.entry)
  assert.deepEqual(await fedStatuses(service, agents.untouched.entry), [])
}

suite('entries of status lists after changes by the release before', () => {
  test('are repaired while it still runs, and the feed says so once', async (t) => {
    const service = await startTestService(t)
    const agents = await certifyAll(service)
    await changeAllBefore(service.operator, agents)
    await assertAllRepaired(service, agents)
    await setBefore(service.operator, agents.suspended.did, 'active')
    await assertRepaired(service, agents.suspended.entry, [2, 0])
    await assertRepaired(service, agents.revoked.entry, [1])
  })

  test('are repaired after the start, if it ran instead', async (t) => {
    const first = await startTestService(t)
    const agents = await certifyAll(first)
    const operator = await openOperator(first.settings)
    t.after(() => operator.close())
    await first.stop()
    await changeAllBefore(operator, agents)
    await assertAllRepaired(await startTestService(t, first.env), agents)
  })

  test('are repaired for all agents of an owner, however many there are', async (t) => {
    const service = await startTestService(t)
    const { ownerId } = await certified(service)
    const entries: Reference[] = []
    for (let i = 0; i < 210; i++) entries.push((await certified(service, ownerId)).entry)
    // Later than the certificates, which name the first one.
    await verifyAs(service, ownerId, 'another')
    const stated = () => withRaw(service.settings, (raw) => raw.all(VALID_ENTRIES))
    assert.equal((await stated()).length, 211)
    await loseVerificationBefore(service.operator, ownerId, 'in-person')
    await untilTicked(service, async () => (await stated()).length === 0)
    const isListed = async () => (await listedStatus(service, entries[209] as Reference)) === 1
    await untilTicked(service, isListed)
    for (const at of [0, 150, 209]) await assertRepaired(service, entries[at] as Reference, [1])
  })

  test('are repaired by one of two nodes', POSTGRES_ONLY, async (t) => {
    const PORT = String(await freePort())
    const BASE_URL = `http://localhost:${PORT}`
    const here = await startTestService(t, { PORT, BASE_URL })
    const { DATA_DIR } = here.env as { DATA_DIR: string }
    const there = await startTestService(t, { DATA_DIR, BASE_URL })
    const agents = await certifyAll(here)
    await changeAllBefore(there.operator, agents)
    for (const node of [here, there]) await assertAllRepaired(node, agents)
  })
})

const VALID_ENTRIES =
  "select * from status_entries where value = 0 and is_current = 1 and identity_method = 'in-person'"
