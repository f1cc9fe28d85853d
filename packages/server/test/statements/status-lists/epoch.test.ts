import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { STATUS_LIST_LENGTH } from '@countersign/protocol'
import { certificateOf } from '../../../../../test/support/agent-certificates.ts'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { SQLITE_ONLY } from '../../../../../test/support/postgres.ts'
import { withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import {
  askForFeed,
  listedStatus,
  type Reference,
  readFeed,
  readSnapshot,
  referenceIn,
  statusInSnapshot,
} from '../../../../../test/support/status-feed.ts'
import { until, untilTicked } from '../../../../../test/support/until.ts'

interface Certified {
  readonly did: string
  readonly entry: Reference
}

async function certified(service: TestService): Promise<Certified> {
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  return { did, entry: referenceIn(await certificateOf(service, did)) }
}

/** An entry of a list that is not that of a certificate. */
function unallocated({ list, idx }: Reference): Reference {
  return { list, idx: (idx + 1) % STATUS_LIST_LENGTH }
}

/**
 * Takes everything back that was written after an event, as a failover to a standby that is behind does. An entry that is in the
 * log by now stays, as if its agent had been erased: the log is not what these tests are about.
 */
async function loseEverythingAfter(
  { settings }: TestService,
  seq: number,
  { did, entry }: Certified,
): Promise<void> {
  const { list, idx } = entry
  const tail = did.slice(-24)
  await withRaw(settings, (raw) =>
    raw.exec(`begin;
      update agents set status = 'active', pair_slot = 0, grade = 'C', version = seq where tail = '${tail}';
      update status_entries set value = 0, is_current = 1 where list = ${list} and idx = ${idx};
      delete from events where seq > ${seq};
      delete from log_queue where seq > ${seq};
      update log_entries set tail = null where tail = '${tail}' and entry like '%"type":"status"%';
      commit`),
  )
}

async function assertNewEpoch(service: TestService, old: string, heads: readonly string[]) {
  await untilTicked(service, async () => (await askForFeed(service)).status === 200)
  for (const head of heads) {
    let answer = await askForFeed(service, head)
    // While the lists are loaded again, the service answers 503.
    await until(async () => {
      answer = await askForFeed(service, head)
      return answer.status !== 503
    })
    assertRefused(answer, 410, 'CURSOR_EXPIRED', /api\/v1\/snapshot/)
  }
  await until(async () => (await askForFeed(service)).status === 200)
  const { claims } = await readFeed(service)
  assert.notEqual(claims.epoch, old)
  const { snapshot, claims: manifest } = await readSnapshot(service)
  assert.equal(manifest.epoch, claims.epoch)
  assert.deepEqual((await readFeed(service, snapshot.head)).claims.epoch, claims.epoch)
}

test('after a failover that lost a revocation, while the service runs, the epoch changes', async (t) => {
  const service = await startTestService(t)
  const agent = await certified(service)
  const start = await readFeed(service)
  assert.equal(await listedStatus(service, unallocated(agent.entry)), 0)
  await setStatus(service, agent.did, 'revoked')
  const revoked = await readFeed(service, start.head)
  assert.equal(revoked.changes.at(-1)?.status, 1)

  await loseEverythingAfter(service, start.claims.seq, agent)

  const isNoticed = async () => {
    const answer = await askForFeed(service, revoked.head)
    return answer.status === 410
  }
  await untilTicked(service, isNoticed)
  await assertNewEpoch(service, start.claims.epoch, [start.head, revoked.head])
  assert.equal(await listedStatus(service, agent.entry), 0, 'it is active again, says the database')
  assert.equal(await listedStatus(service, unallocated(agent.entry)), 1)
  const { snapshot } = await readSnapshot(service)
  assert.equal(await statusInSnapshot(snapshot, unallocated(agent.entry)), 1)
  const later = await certified(service)
  assert.notEqual(later.entry.list, agent.entry.list, 'closed lists get no further entries')
  await setStatus(service, agent.did, 'revoked')
  await until(async () => (await listedStatus(service, agent.entry)) === 1)
})

test('a head proves that events were lost before the start, whether their numbers were used again or not', async (t) => {
  for (const reused of [0, 5]) {
    const first = await startTestService(t)
    const agent = await certified(first)
    const start = await readFeed(first)
    await setStatus(first, agent.did, 'revoked')
    const revoked = await readFeed(first, start.head)
    await first.stop()
    await loseEverythingAfter(first, start.claims.seq, agent)

    const { DATA_DIR, PORT } = first.env as { DATA_DIR: string; PORT: string }
    const second = await startTestService(t, { DATA_DIR, PORT })
    for (let i = 0; i < reused; i++)
      await claimAgent(second, await second.operator.addVerifiedOwner())
    const { claims } = await readFeed(second, start.head)
    assert.equal(claims.epoch, start.claims.epoch, 'nothing before that head was lost')
    assert.equal(claims.seq > revoked.claims.seq, reused > 0, 'the number of the revocation')
    await assertNewEpoch(second, start.claims.epoch, [revoked.head, start.head])
    assert.equal(await listedStatus(second, unallocated(agent.entry)), 1)
    await second.stop()
  }
})

test('`countersignd begin-epoch` does what a restored PostgreSQL needs', async (t) => {
  const service = await startTestService(t)
  const { entry } = await certified(service)
  const { claims, head } = await readFeed(service)
  const done = await countersignd(service.env, 'begin-epoch')
  assert.equal(done.code, 0, done.stderr)
  await untilTicked(service, async () => (await askForFeed(service, head)).status === 410)
  await assertNewEpoch(service, claims.epoch, [head])
  assert.equal(await listedStatus(service, entry), 0)
  assert.equal(await listedStatus(service, unallocated(entry)), 1)
})

test(
  'a restored backup begins another epoch: what it does not know is invalid',
  SQLITE_ONLY,
  async (t) => {
    const service = await startTestService(t)
    const known = await certified(service)
    const file = join(service.env.DATA_DIR as string, 'backup.db')
    const saved = await countersignd(service.env, 'backup', file)
    assert.equal(saved.code, 0, saved.stderr)
    const lost = await certified(service)
    const start = await readFeed(service)
    await service.stop()
    const restored = await countersignd(service.env, 'restore', file)
    assert.equal(restored.code, 0, restored.stderr)

    const { DATA_DIR, PORT } = service.env as { DATA_DIR: string; PORT: string }
    const again = await startTestService(t, { DATA_DIR, PORT })
    await assertNewEpoch(again, start.claims.epoch, [start.head])
    assert.equal(await listedStatus(again, known.entry), 0)
    assert.equal(await listedStatus(again, lost.entry), 1)
    assert.deepEqual(referenceIn(await certificateOf(again, known.did)), known.entry)
    assertRefused(await ask(again, `/api/v1/agent/${lost.did}/certificate`), 404, 'NOT_FOUND')
  },
)
