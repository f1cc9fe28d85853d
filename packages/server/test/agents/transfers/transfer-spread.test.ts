import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { isAgentEntry, randomTail } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { insertAgent } from '../../../../../test/support/insert-agent.ts'
import { logKey, readLog, untilLogged } from '../../../../../test/support/log-client.ts'
import { SPREAD_MS } from '../../../src/agents/changes/change-agent.ts'
import { appendAgentEvent } from '../../../src/database/event-table.ts'
import { start, TransferWorld, transfersOf } from './with-transfers.ts'

const AGENTS = 200

test('200 agents move in one transaction, and the times of their entries do not link them', async (t) => {
  const world = await TransferWorld.start(t)
  const { service, clock } = world
  const ada = await world.person('ada')
  const acme = await world.organisation(ada)
  await world.verify(acme.ownerId)
  const { db } = service.operator
  const tails = Array.from({ length: AGENTS }, () => randomTail(randomBytes))
  await db.write(async (tx) => {
    for (const [i, tail] of tails.entries()) {
      const seq = tx.nextSeq()
      const at = clock.now()
      const agent = { seq, tail, public_key: randomBytes(32), agent_id: `agent ${i}` }
      // Graded A by mistake, so that each gets another grade too.
      await insertAgent(tx, { ...agent, owner_id: ada.ownerId, claimed_at: at, grade: 'A' })
      const event = { seq, at, tail, ownerId: ada.ownerId, payload: {} }
      await appendAgentEvent(tx, { ...event, type: 'agent.directory_proven' })
    }
  })
  const movedAt = clock.now()
  const dids = tails.map((tail) => `svc:agent:${tail}`)
  const began = performance.now()
  const answer = await start(ada, dids, 'acme')
  t.diagnostic(`${AGENTS} agents moved in ${Math.round(performance.now() - began)} ms`)
  assert.equal(answer.status, 201, answer.text)
  assert.equal(jsonOf(answer).state, 'done')
  assert.equal((await transfersOf(acme))[0]?.dids.length, AGENTS)
  const waiting = await db.read
    .selectFrom('log_queue')
    .select(['type', 'not_before'])
    .where('tail', 'in', tails)
    .execute()
  assert.deepEqual([...new Set(waiting.map(({ type }) => type))].toSorted(), [
    'grade',
    'owner_changed',
  ])
  clock.offset += SPREAD_MS.spread + 1000
  await untilLogged(service, waiting.length)
  const { entries } = await readLog(`${service.url}/log`, await logKey(service.url))
  const moves = entries.filter(isAgentEntry).filter(({ type }) => type === 'owner_changed')
  assert.equal(new Set(moves.map(({ did }) => did)).size, AGENTS)
  const offsets = moves.map(({ at }) => at - movedAt)
  assert.ok(offsets.every((each) => each > 0 && each <= SPREAD_MS.spread + 60_000))
  // Evenly over the whole time: chance misses one of ten parts once in 10^8 runs.
  const parts = new Set(offsets.map((each) => Math.floor((each * 10) / SPREAD_MS.spread)))
  for (let part = 0; part < 10; part++) assert.ok(parts.has(part), `part ${part}`)
  const order = new Map(dids.map((did, i) => [did, i]))
  const places = moves.map(({ did }) => order.get(did) as number)
  const inOrder = places.filter((place, i) => i > 0 && place > (places[i - 1] as number)).length
  assert.ok(inOrder > AGENTS * 0.2 && inOrder < AGENTS * 0.8, 'in no order of the claims')
})
