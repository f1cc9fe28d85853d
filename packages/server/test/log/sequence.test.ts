import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentEntry, Tail } from '@countersign/protocol'
import { logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { changeStatus } from '../../src/agent-management/change-status.ts'
import { logChange } from '../../src/agents/log-change.ts'
import { setEntriesOfOwner } from '../../src/log/log-table.ts'
import { DAILY_ENTRIES_OF_OWNER } from '../../src/log/sequence.ts'

const DAY_MS = 86_400_000

test('above the daily quota entries about grades wait, a suspension does not and takes them along; grades are coalesced', async (t) => {
  const service = await startTestService(t)
  const { db } = service.operator
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner)
  const other = await claimAgent(service, owner, undefined, 'other')
  await untilLogged(service, 2)
  const today = Math.floor(Date.now() / DAY_MS)
  const change = (of: string, grade: 'A' | 'B') =>
    db.write(async (tx) => {
      await setEntriesOfOwner(tx, owner, today, DAILY_ENTRIES_OF_OWNER)
      await setEntriesOfOwner(tx, owner, Math.floor(Date.now() / DAY_MS), DAILY_ENTRIES_OF_OWNER)
      const seq = 5_000_000 + (grade === 'A' ? 0 : 1) + (of === did ? 0 : 2)
      const logged = { seq, at: Date.now(), by: 'service', evidence: null } as const
      await logChange(tx, of.slice(-24), { ...logged, change: { type: 'grade', grade } })
    })
  const queue = () => db.read.selectFrom('log_queue').selectAll().orderBy('seq').execute()
  await change(did, 'A')
  await change(did, 'B')
  await change(other, 'A')
  await untilTicked(service, async () =>
    (await queue()).every(({ not_before }) => not_before > Date.now()),
  )
  const held = await queue()
  assert.deepEqual(
    held.map(({ type, tail }) => [type, tail]),
    [
      ['grade', did.slice(-24)],
      ['grade', other.slice(-24)],
    ],
  )

  const tail = did.slice(-24) as Tail
  await changeStatus(
    { db, now: Date.now },
    { tail, to: 'suspended', reason: 'test', by: 'operator' },
  )
  await untilLogged(service, 4)
  const { entries } = await readLog(`${service.url}/log`, await logKey(service.url))
  const [grade, status] = entries.slice(2) as AgentEntry[]
  assert.ok(grade?.type === 'grade' && grade.grade === 'B' && grade.did === did)
  assert.ok(status?.type === 'status' && status.status === 'suspended' && status.by === 'operator')
  assert.deepEqual(
    (await queue()).map(({ tail }) => tail),
    [other.slice(-24)],
  )
})
