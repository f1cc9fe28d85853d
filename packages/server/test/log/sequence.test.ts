import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentEntry, Tail } from '@countersign/protocol'
import { newKey } from '../../../../test/support/key.ts'
import { rotateTo } from '../../../../test/support/key-operations.ts'
import { logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { changeAgent } from '../../src/agents/changes/change-agent.ts'
import { insertQueued } from '../../src/agents/changes/log-queue-table.ts'
import { changeStatus } from '../../src/agents/manage/change-status.ts'
import { deleteQueued } from '../../src/log/log-table.ts'
import { setEntriesOfOwner } from '../../src/log/quota-table.ts'
import { DAILY_ENTRIES_OF_OWNER } from '../../src/log/sequence.ts'

const DAY_MS = 86_400_000

test('above the daily quota entries about grades wait, a suspension, a rotation and a revocation do not and take them along; grades are coalesced', async (t) => {
  const service = await startTestService(t)
  const { db } = service.operator
  const owner = await service.operator.addVerifiedOwner()
  const did = await claimAgent(service, owner)
  const other = await claimAgent(service, owner, undefined, 'other')
  const key = newKey()
  const did2 = await claimAgent(service, owner, key, 'third')
  const tail2 = did2.slice(-24) as Tail
  await untilLogged(service, 3)
  const today = Math.floor(Date.now() / DAY_MS)
  const change = (of: string, grade: 'A' | 'B') =>
    db.write(async (tx) => {
      await setEntriesOfOwner(tx, owner, today, DAILY_ENTRIES_OF_OWNER)
      await setEntriesOfOwner(tx, owner, Math.floor(Date.now() / DAY_MS), DAILY_ENTRIES_OF_OWNER)
      const to = { type: 'agent.grade_changed', to: grade, delay: 'none' } as const
      await changeAgent(tx, of.slice(-24), to, Date.now())
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
  await untilLogged(service, 5)
  const { entries } = await readLog(`${service.url}/log`, await logKey(service.url))
  const [grade, status] = entries.slice(3) as AgentEntry[]
  assert.ok(grade?.type === 'grade' && grade.grade === 'B' && grade.did === did)
  assert.ok(status?.type === 'status' && status.status === 'suspended' && status.by === 'operator')
  assert.deepEqual(
    (await queue()).map(({ tail }) => tail),
    [other.slice(-24)],
  )

  // Neither a rotation nor a revocation for a compromised key waits, although the quota is used up.
  const next = newKey()
  const rotated = await rotateTo(service, did2, { old: key, next, sequence: 2 })
  assert.equal(rotated.status, 200, rotated.text)
  await db.write((tx) => setEntriesOfOwner(tx, owner, today, DAILY_ENTRIES_OF_OWNER))
  const compromised = { reason: 'key_compromised', by: 'owner' } as const
  await changeStatus({ db, now: Date.now }, { tail: tail2, to: 'revoked', ...compromised })
  await untilLogged(service, 7)
  const after = await readLog(`${service.url}/log`, await logKey(service.url))
  assert.deepEqual(
    (after.entries.slice(5) as AgentEntry[]).map(({ did, type }) => [did, type]),
    [
      [did2, 'key_rotated'],
      [did2, 'status'],
    ],
  )
})

test('only the changes that have got their place are deleted, not those with numbers between them', async (t) => {
  const { db } = (await startTestService(t)).operator
  // In one transaction, so that the log of the service does not take them.
  const left = await db.write(async (tx) => {
    const change = { tail: 'x', owner_id: null, type: 'claimed', entry: '{}', evidence: null }
    for (let seq = 101; seq <= 110; seq++) await insertQueued(tx, { seq, ...change, not_before: 0 })
    await deleteQueued(tx, [])
    await deleteQueued(tx, [108, 102, 103, 105, 101, 107, 110])
    const rows = await tx.db.selectFrom('log_queue').select('seq').orderBy('seq').execute()
    await tx.db.deleteFrom('log_queue').execute()
    return rows.map(({ seq }) => seq)
  })
  assert.deepEqual(left, [104, 106, 109])
})
