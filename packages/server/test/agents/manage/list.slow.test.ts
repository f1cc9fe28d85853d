import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { insertProvenChannel } from '../../../../../test/support/channel-rows.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { AGENTS, editAgent, listAgents, newOwner, startWithAgent } from './with-agent.ts'

/** @returns the DIDs, oldest first */
async function claimMany(service: TestService, ownerId: number, count: number): Promise<string[]> {
  const dids = []
  for (let i = 0; i < count; i++) {
    dids.push(await claimAgent(service, ownerId, newKey(), `agent-${i}`))
  }
  return dids
}

const didsOf = ({ agents }: { agents: readonly object[] }) =>
  agents.map((each) => (each as { svcDid: string }).svcDid)

test('an owner without agents gets an empty list', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  assert.deepEqual(await listAgents(owner), {
    agents: [],
    next: null,
    counts: { active: 0, suspended: 0, revoked: 0 },
  })
})

test("agents are listed newest first, 50 per page, each once, and only the owner's", async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const stranger = await newOwner(service)
  const dids = await claimMany(service, owner.ownerId, 100)
  await claimMany(service, stranger.ownerId, 2)

  const first = await listAgents(owner)
  const second = await listAgents(owner, `?after=${first.next}`)

  assert.deepEqual([...didsOf(first), ...didsOf(second)], dids.toReversed())
  assert.equal(first.agents.length, 50)
  assert.equal(second.next, null, 'a page that is full is the last one all the same')
  assert.deepEqual(first.counts, { active: 100, suspended: 0, revoked: 0 })
  const last = await listAgents(owner, `?after=1`)
  assert.deepEqual([last.agents, last.next], [[], null])
})

test('agents are sorted by name, or by grade with the weakest first and revoked ones last, across pages', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const dids = await claimMany(service, owner.ownerId, 60)
  const [weak, gone] = [dids[20] as string, dids[40] as string]
  for (const [i, did] of dids.entries()) {
    await editAgent(owner, did, {
      displayName: `${i % 2 === 0 ? 'Name' : 'name'} ${String(i).padStart(2, '0')}`,
    })
  }
  await owner.post(`${AGENTS}/${weak}/suspend`)
  await owner.post(`${AGENTS}/${gone}/revoke`)
  const all = async (sort: string) => {
    const first = await listAgents(owner, `?sort=${sort}`)
    const second = await listAgents(owner, `?sort=${sort}&after=${first.next}`)
    assert.deepEqual([first.agents.length, second.next], [50, null])
    return [...didsOf(first), ...didsOf(second)]
  }
  assert.deepEqual(await all('name'), dids)
  const others = dids.filter((did) => did !== weak && did !== gone).toReversed()
  assert.deepEqual(await all('grade'), [weak, ...others, gone])
  assertRefused(await owner.get(`${AGENTS}?sort=age`), 400, 'VALIDATION_ERROR')
})

test('filters by status and grade work across pages, and the counts include all agents', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const dids = await claimMany(service, owner.ownerId, 120)
  const suspended = dids.filter((_, i) => i % 2 === 0)
  for (const did of suspended) await owner.post(`${AGENTS}/${did}/suspend`)
  await owner.post(`${AGENTS}/${dids[1]}/revoke`)

  for (const filter of ['status=suspended', 'grade=E&status=suspended']) {
    const first = await listAgents(owner, `?${filter}`)
    const second = await listAgents(owner, `?${filter}&after=${first.next}`)
    assert.deepEqual([...didsOf(first), ...didsOf(second)], suspended.toReversed(), filter)
    assert.equal(first.agents.length, 50)
    assert.equal(second.next, null)
    assert.deepEqual(first.counts, { active: 59, suspended: 60, revoked: 1 })
  }
  const grades = await Promise.all(
    ['A', 'B', 'C', 'D', 'E'].map(async (grade) => {
      const first = await listAgents(owner, `?grade=${grade}`)
      if (first.next === null) return first.agents.length
      return 50 + (await listAgents(owner, `?grade=${grade}&after=${first.next}`)).agents.length
    }),
  )
  assert.deepEqual(grades, [0, 0, 59, 0, 61], 'an identity and no channel is a C')
})

test('a channel raises the grade in the list as it does in the card', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  await claimAgent(service, owner.ownerId, newKey(), 'other')
  const channel = { kind: 'domain', handle_or_domain: 'agents.example', tier: 2 as const }
  await service.operator.db.write((tx) => insertProvenChannel(tx, did.slice(-24), channel))
  const found = await listAgents(owner, '?grade=A')
  assert.deepEqual(didsOf(found), [did])
  assert.equal(found.agents[0]?.nextStep, null)
  assert.deepEqual(didsOf(await listAgents(owner, '?grade=C')).length, 1)
})

test('the search matches parts of names, labels, descriptions and DIDs, case-insensitively in Unicode', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const stranger = await newOwner(service)
  const [plain, named] = (await claimMany(service, owner.ownerId, 2)) as [string, string]
  const [other] = (await claimMany(service, stranger.ownerId, 1)) as [string]
  await editAgent(owner, named, {
    displayName: 'Ärger 100%_sicher',
    username: 'travel-desk',
    description: 'Books trains.\nЛучший агент \\o/',
  })
  await editAgent(stranger, other, { displayName: 'Ärger', username: 'travel-agency' })
  const tail = plain.slice(-24)
  const table: [string, string[]][] = [
    ['', [named, plain]],
    ['TRAVEL', [named]],
    ['el-de', [named]],
    ['ärger', [named]],
    ['ÄRGER', [named]],
    ['rger 100%_S', [named]],
    ['ЛУЧШИЙ', [named]],
    ['trains.\nл', [named]],
    ['\\O/', [named]],
    ['agent-0', [plain]],
    ['agent-', [named, plain]],
    [`Agent ${tail.slice(0, 6)}`, [plain]],
    [tail, [plain]],
    [tail.slice(3, 12).toUpperCase(), [plain]],
    [plain, [plain]],
    [`svc:agent:${tail.slice(0, 5)}`, [plain]],
    ['%', [named]],
    ['_', [named]],
    ['100__sicher', []],
    ['b%ks', []],
    ['agency', []],
    ["' or 1=1 --", []],
    ['ä%', []],
  ]
  for (const [search, expected] of table) {
    const found = await listAgents(owner, `?search=${encodeURIComponent(search)}`)
    assert.deepEqual(didsOf(found), expected, search)
    assert.equal(found.next, null)
  }
})

test('malformed queries are rejected', async (t) => {
  const { owner } = await startWithAgent(t)
  const queries = [
    'status=gone',
    'grade=F',
    'after=x',
    'after=-1',
    'after=1&after=2',
    `search=${'x'.repeat(129)}`,
    'owner=1',
  ]
  for (const query of queries) {
    assertRefused(await owner.get(`${AGENTS}?${query}`), 400, 'VALIDATION_ERROR')
  }
})
