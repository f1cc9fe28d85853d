import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Card } from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { withRaw } from '../../../../../test/support/raw-database.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { unverifyOwner } from '../../../src/identity/record-verification.ts'

/** Reverts a database to the schema before migration 0003. */
const BEFORE_CHANNELS = `
  DROP TABLE channel_leases;
  DROP TABLE channel_checks;
  DROP TABLE channels;
  CREATE TABLE channels (id text PRIMARY KEY, tail text NOT NULL);
  ALTER TABLE agents DROP COLUMN grade;
  DELETE FROM schema_migrations WHERE name = '0003-channels';
  DELETE FROM events WHERE type = 'agent.grade_changed';
`

test('migrating a database from before channels gives each agent its grade, without events', async (t) => {
  const service = await startTestService(t)
  const { operator, settings, env } = service
  const high = await operator.addVerifiedOwner('high', 'high')
  const low = await operator.addVerifiedOwner('low', 'low')
  const none = await operator.addVerifiedOwner('none', 'low')
  const dids = {
    C: await claimAgent(service, high),
    D: await claimAgent(service, low),
    E: await claimAgent(service, none),
    suspended: await claimAgent(service, high),
  }
  await unverifyOwner({ db: operator.db, now: Date.now }, none, 'in-person')
  await setStatus(service, dids.suspended, 'suspended')
  await service.stop()
  await withRaw(settings, (raw) => raw.exec(BEFORE_CHANNELS))

  const again = await startTestService(t, env)

  for (const [expected, did] of Object.entries(dids)) {
    const { grade } = jsonOf<Card>(await ask(again, `/api/agents/${did}/card`))
    assert.equal(grade, expected === 'suspended' ? 'E' : expected)
    const stored = await again.operator.db.read
      .selectFrom('agents')
      .select('grade')
      .where('tail', '=', did.slice(-24))
      .executeTakeFirstOrThrow()
    assert.equal(stored.grade, grade, 'later grade changes are relative to the stored grade')
  }
  const changes = await again.operator.db.read
    .selectFrom('events')
    .select('seq')
    .where('type', '=', 'agent.grade_changed')
    .execute()
  assert.deepEqual(changes, [])
})
