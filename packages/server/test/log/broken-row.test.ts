import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentEntry, JsonValue } from '@countersign/protocol'
import { newKey } from '../../../../test/support/key.ts'
import { rotateTo } from '../../../../test/support/key-operations.ts'
import { logInfo, logKey, readLog, untilLogged } from '../../../../test/support/log-client.ts'
import { type Cleanup, claimAgent, startTestService } from '../../../../test/support/service.ts'
import { untilTicked } from '../../../../test/support/until.ts'
import { changeAgent } from '../../src/agents/changes/change-agent.ts'
import { insertQueued } from '../../src/agents/changes/log-queue-table.ts'
import type { Database } from '../../src/database/database.ts'

/** A log with one agent. */
async function start(t: Cleanup) {
  const service = await startTestService(t)
  const { db } = service.operator
  const owner = await service.operator.addVerifiedOwner()
  const key = newKey()
  const did = await claimAgent(service, owner, key)
  await untilLogged(service, 1)
  return { service, db, owner, key, did, tail: did.slice(-24) }
}

async function problemOf({ url }: { readonly url: string }): Promise<string> {
  const readiness = (await (await fetch(`${url}/readyz`)).json()) as {
    log: { state: string; problem: string | null }
  }
  return readiness.log.state === 'halted' ? (readiness.log.problem ?? '') : ''
}

/** Queues a copy of an entry with some members changed. */
async function queue(
  db: Database,
  tail: string,
  change: Partial<Record<string, JsonValue>>,
  position = 0,
): Promise<void> {
  const { entry } = await db.read
    .selectFrom('log_entries')
    .select('entry')
    .where('position', '=', position)
    .executeTakeFirstOrThrow()
  const { v, did, prev, commitment, ...members } = JSON.parse(entry) as Record<string, JsonValue>
  const changed = { ...members, ...change }
  const row = { seq: 1_000_000, tail, owner_id: null, type: String(changed.type), not_before: 0 }
  await db.write((tx) =>
    insertQueued(tx, { ...row, entry: JSON.stringify(changed), evidence: null }),
  )
}

/** Rows that an honest service cannot queue, by what was changed in them. */
const BROKEN: Readonly<
  Record<string, { readonly change: Partial<Record<string, JsonValue>>; readonly says: RegExp }>
> = {
  'a second claim': { change: { type: 'claimed', grade: 'A' }, says: /claims an agent again/ },
  'a key that no entry made current': {
    change: { type: 'grade', grade: 'A', keySequence: 3 },
    says: /has a key that no entry made current/,
  },
  'a rotation that nobody has signed': {
    change: { type: 'key_rotated', keySequence: 2 },
    says: /rotates a key without what both keys signed/,
  },
  'an entry of another format': {
    change: { type: 'grade', grade: 'A', by: 'nobody' },
    says: /is not an entry of this format/,
  },
}

for (const [name, { change, says }] of Object.entries(BROKEN)) {
  test(`${name} in the queue halts the log before anything is signed`, async (t) => {
    const { service, db, tail } = await start(t)
    await queue(db, tail, change)
    await untilTicked(service, async () => says.test(await problemOf(service)))
    assert.match(await problemOf(service), /entry 1, about agent \w{24}, /)
    assert.equal((await fetch(`${service.url}/log/checkpoint`)).status, 503)
    const { size } = await db.read.selectFrom('log_epochs').select('size').executeTakeFirstOrThrow()
    assert.equal(size, 1)

    // The control: without that row, the log goes on.
    await db.write((tx) => tx.db.deleteFrom('log_queue').execute())
    await untilTicked(service, async () => (await problemOf(service)) === '')
    assert.equal((await logInfo(service.url)).size, 1)
  })
}

test('a rotation that both keys have signed is refused under another number', async (t) => {
  const { service, db, key, did, tail } = await start(t)
  const rotated = await rotateTo(service, did, { old: key, next: newKey(), sequence: 2 })
  assert.equal(rotated.status, 200, rotated.text)
  await untilLogged(service, 2)
  await queue(db, tail, { keySequence: 3 }, 1)
  await untilTicked(service, async () =>
    /entry 2, .* rotates a key with a signature that is not valid/.test(await problemOf(service)),
  )
  await db.write((tx) => tx.db.deleteFrom('log_queue').execute())
})

test('a grade that waits is logged between the changes of the key that it was between', async (t) => {
  const { service, db, tail } = await start(t)
  await db.write(async (tx) => {
    const recover = (at: number) => {
      const next = Buffer.from(newKey().publicKey, 'base64')
      return changeAgent(
        tx,
        tail,
        { type: 'agent.key_recovered', newKey: next, reason: 'lost' },
        at,
      )
    }
    const delay = 'spread'
    await recover(Date.now())
    await changeAgent(tx, tail, { type: 'agent.grade_changed', to: 'A', delay }, Date.now())
    await recover(Date.now())
  })
  await untilTicked(service, async () => (await logInfo(service.url)).size === 4)
  const { entries } = await readLog(`${service.url}/log`, await logKey(service.url))
  assert.deepEqual(
    (entries as AgentEntry[]).map(({ type, keySequence }) => [type, keySequence]),
    [
      ['claimed', 1],
      ['key_recovered', 2],
      ['grade', 2],
      ['key_recovered', 3],
    ],
  )
})
