import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { isAgentEntry } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { logKey, readLog, untilLogged } from '../../../../../test/support/log-client.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { SPREAD_MS } from '../../../src/agents/changes/change-agent.ts'

const DAY_MS = 86_400_000
const AGENTS_OF_OWNER = 3
/** In `npm test`, fewer agents are enough to find what groups them. */
const [OWNERS, ERASED] = process.env.TEST_TIER === 'quick' ? [12, 5] : [40, 10]

interface Agent {
  readonly did: string
  readonly owner: number
}

/** Every public value about an agent, by its place; the DID and the key are replaced, because they differ anyway. */
async function publicValues(service: TestService, { did }: Agent): Promise<Map<string, string>> {
  const values = new Map<string, string>()
  const surfaces = [
    `/api/v1/agent/${did}`,
    `/api/v1/agent/${did}/card`,
    `/api/v1/agent/${did}/keys`,
    `/api/agents/${did}`,
    `/api/agents/${did}/card`,
    `/api/agents/${did}/grade`,
    `/agent/${did.replaceAll(':', '/')}/did.json`,
  ]
  for (const path of surfaces) {
    const answer = await ask(service, path)
    // The DID document of a revoked agent is 410.
    assert.ok([200, 410].includes(answer.status), `${path}: ${answer.text}`)
    const place = path.replaceAll(did, '').replaceAll(did.slice(-24), '')
    collect(jsonOf(answer), place, values)
    for (const name of ['etag', 'last-modified', 'expires']) {
      values.set(`${place} ${name}`, answer.headers.get(name) ?? '')
    }
  }
  const page = await ask(service, `/agent/${did}`)
  assert.equal(page.status, 200)
  const times = page.text.match(/\d{4}-\d\d-\d\dT[\d:.]+Z/g) ?? []
  for (const time of new Set(times)) values.set(`page ${time}`, time)
  return values
}

function collect(value: unknown, place: string, into: Map<string, string>): void {
  if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) collect(each, `${place}.${name}`, into)
  } else into.set(place, String(value))
}

/** The places at which some agents have one value and others another: such a value tells that they belong together. */
function groupingPlaces(all: readonly Map<string, string>[]): string[] {
  const places = new Set(all.flatMap((values) => [...values.keys()]))
  return [...places].filter((place) => {
    const groups = Map.groupBy(all, (values) => values.get(place))
    // A page lists its times: one that only a single page has groups nothing.
    if (place.startsWith('page ')) groups.delete(undefined)
    const isShared = ({ length }: readonly unknown[]) => length > 1 && length < all.length
    return [...groups.values()].some(isShared)
  })
}

/** Agents of several owners, claimed at times of their own and in a mixed order. */
async function claimMixed(
  service: TestService,
  owners: readonly number[],
  advance: () => void,
): Promise<Agent[]> {
  const order = owners
    .flatMap((owner) => Array.from({ length: AGENTS_OF_OWNER }, () => owner))
    .map((owner) => ({ owner, at: randomInt(2 ** 40) }))
    .toSorted((a, b) => a.at - b.at)
  const agents = []
  for (const { owner } of order) {
    advance()
    agents.push({ did: await claimAgent(service, owner, newKey()), owner })
  }
  return agents
}

test('the agents of accounts that were erased on one day have nothing in common but that day', async (t) => {
  let now = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const service = await startTestService(t, {}, () => now)
  const { db, addVerifiedOwner } = service.operator
  const owners = []
  for (let i = 0; i < OWNERS; i++) {
    now += 1000 + randomInt(60_000)
    owners.push(await addVerifiedOwner(`holder-${i + 1}`))
  }
  const agents = await claimMixed(service, owners, () => {
    now += 1000 + randomInt(60_000)
  })
  await untilLogged(service, agents.length)
  for (const { did, owner } of agents) {
    const { send } = await signIn(service, owner, now)
    const maxDepth = owner % 4
    const answer = await send('PUT', `/api/account/agents/${did}/delegation`, { maxDepth })
    assert.equal(answer.status, 200, answer.text)
  }
  now = (Math.floor(now / DAY_MS) + 1) * DAY_MS
  const erased = owners.slice(0, ERASED)
  for (const id of erased) {
    now += 1000 + randomInt(3_600_000)
    const owner = await signIn(service, id, now)
    const answer = await owner.post('/api/account/deletion', { username: `holder-${id}` })
    assert.deepEqual(jsonOf(answer), { revokedAgents: AGENTS_OF_OWNER })
  }
  const gone = agents.filter(({ owner }) => erased.includes(owner))
  const shown = []
  for (const agent of gone) shown.push(await publicValues(service, agent))
  assert.deepEqual(groupingPlaces(shown), [])

  now += SPREAD_MS.day + 1
  await untilLogged(service, agents.length + gone.length)
  const { entries } = await readLog(`${service.url}/log`, await logKey(service.url))
  const revoked = entries.filter(isAgentEntry).slice(agents.length)
  assert.equal(new Set(revoked.map(({ at }) => at)).size, revoked.length)
  // By chance, 2 of 29 neighbours have one owner; 12 and more once in 10^6 runs.
  const ownerOf = new Map(agents.map(({ did, owner }) => [did, owner]))
  const pairs = revoked.filter(
    ({ did }, i) => i > 0 && ownerOf.get(did) === ownerOf.get(revoked[i - 1]?.did ?? ''),
  )
  assert.ok(pairs.length < 12, `${pairs.length} neighbours have one owner`)
  // The control: without the days, the same comparison finds the owners.
  const exact = await db.read.selectFrom('agents').select('status_changed_at').execute()
  const times = exact.map((row) => new Map([['at', String(row.status_changed_at)]]))
  assert.deepEqual(groupingPlaces(times), ['at'])
})

test('apart from the name of their owner, the cards of verified owners do not tell whose agents they are', async (t) => {
  let now = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const service = await startTestService(t, {}, () => now)
  const owners = []
  for (let i = 0; i < 4; i++) {
    now += 1000 + randomInt(3_600_000)
    owners.push(await service.operator.addVerifiedOwner())
  }
  const agents = await claimMixed(service, owners, () => {
    now += 1000 + randomInt(60_000)
  })
  await untilLogged(service, agents.length)
  const shown = []
  for (const agent of agents) shown.push(await publicValues(service, agent))
  const grouping = groupingPlaces(shown).filter(
    (place) => !/\.owner\.(display|user)?name/i.test(place),
  )
  assert.deepEqual(grouping, [])
})
