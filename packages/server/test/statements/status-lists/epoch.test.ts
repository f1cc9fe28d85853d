import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  chainAfter,
  chainStart,
  encodeBase64Url,
  type FeedChange,
  type FeedHeadClaims,
  STATUS_LIST_LENGTH,
} from '@countersign/protocol'
import { certificateOf, decodeJws } from '../../../../../test/support/agent-certificates.ts'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { ON_POSTGRES, SQLITE_ONLY, WRITER_LOCK } from '../../../../../test/support/postgres.ts'
import { withRaw } from '../../../../../test/support/raw-database.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { HOUR_MS } from '../../../../../test/support/sign-in-by.ts'
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
import { deleteOldFeedChanges } from '../../../src/agents/changes/feed-change-table.ts'

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

/** What tests of a loss come back to: the newest event, and the newest change of the feed. */
interface Place {
  readonly seq: number
  readonly n: number
}

function place({ settings }: TestService): Promise<Place> {
  return withRaw(settings, async (raw) => {
    const count = async (query: string) => Number((await raw.all(query))[0]?.last ?? 0)
    return {
      seq: await count('select max(seq) as last from events'),
      n: await count('select max(n) as last from feed_changes'),
    }
  })
}

/**
 * Takes everything back that was written after an event, as a failover to a standby that is behind does. An entry that is in the
 * log by now stays, as if its agent had been erased: the log is not what these tests are about.
 */
async function loseEverythingAfter(
  { settings }: TestService,
  { seq, n }: Place,
  { did, entry }: Certified,
): Promise<void> {
  const { list, idx } = entry
  const tail = did.slice(-24)
  await withRaw(settings, (raw) =>
    // The log must not take a place for what is deleted meanwhile.
    raw.exec(`begin;
      ${ON_POSTGRES ? `select pg_advisory_xact_lock(${WRITER_LOCK});` : ''}
      update agents set status = 'active', pair_slot = 0, grade = 'C', version = seq where tail = '${tail}';
      update status_entries set value = 0, is_current = 1 where list = ${list} and idx = ${idx};
      delete from events where seq > ${seq};
      delete from feed_changes where n > ${n};
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
  const before = await place(service)
  assert.equal(await listedStatus(service, unallocated(agent.entry)), 0)
  await setStatus(service, agent.did, 'revoked')
  const revoked = await readFeed(service, start.head)
  assert.equal(revoked.changes.at(-1)?.status, 1)

  await loseEverythingAfter(service, before, agent)

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
    const before = await place(first)
    await setStatus(first, agent.did, 'revoked')
    const revoked = await readFeed(first, start.head)
    await first.stop()
    await loseEverythingAfter(first, before, agent)

    const { DATA_DIR, PORT } = first.env as { DATA_DIR: string; PORT: string }
    const second = await startTestService(t, { DATA_DIR, PORT })
    for (let i = 0; i < reused; i++)
      await claimAgent(second, await second.operator.addVerifiedOwner())
    const { claims } = await readFeed(second, start.head)
    assert.equal(claims.epoch, start.claims.epoch, 'nothing before that head was lost')
    assert.ok(claims.n < revoked.claims.n)
    const { seq } = await place(second)
    assert.equal(seq > before.seq + 2, reused > 0, 'the number of the revocation')
    await assertNewEpoch(second, start.claims.epoch, [revoked.head, start.head])
    assert.equal(await listedStatus(second, unallocated(agent.entry)), 1)
    await second.stop()
  }
})

/** What another history may have lost, each of which only a cursor can show once all nodes were restarted. */
const LOSSES: Readonly<
  Record<string, (service: TestService, agent: Certified) => Promise<unknown>>
> = {
  'a private event': (service) =>
    service.operator.addVerifiedOwner().then((owner) => claimAgent(service, owner)),
  'an allocation': (service) => certified(service),
  'a change, whose number was used again for another one': (service, { did }) =>
    setStatus(service, did, 'suspended'),
}

for (const [what, lose] of Object.entries(LOSSES)) {
  test(`a failover that lost ${what}, and a restart of all nodes: an honest cursor begins another epoch`, async (t) => {
    const first = await startTestService(t)
    const [agent, other] = [await certified(first), await certified(first)]
    await setStatus(first, other.did, 'suspended')
    await setStatus(first, other.did, 'active')
    const start = await readFeed(first)
    const before = await place(first)
    await lose(first, agent)
    const at = Date.now()
    let lost = await readFeed(first)
    // A head may be a second old.
    await until(async () => {
      lost = await readFeed(first)
      return lost.claims.asOf >= at
    })
    await first.stop()
    await forgetEverythingAfter(first, before, agent)

    const { DATA_DIR, PORT } = first.env as { DATA_DIR: string; PORT: string }
    const second = await startTestService(t, { DATA_DIR, PORT })
    if (lost.claims.n > start.claims.n) await setStatus(second, agent.did, 'revoked')
    assert.equal((await readFeed(second, start.head)).claims.epoch, start.claims.epoch)
    await assertNewEpoch(second, start.claims.epoch, [lost.head, start.head])
    await second.stop()
  })
}

/** As a standby that is behind: rows of agents stay, because only the feed is looked at. */
async function forgetEverythingAfter(
  { settings }: TestService,
  { seq, n }: Place,
  { did }: Certified,
): Promise<void> {
  await withRaw(settings, (raw) =>
    raw.exec(`begin;
      update agents set status = 'active', version = seq where version > ${seq};
      update status_entries set value = 0 where changed_seq > ${seq};
      delete from events where seq > ${seq};
      delete from feed_changes where n > ${n};
      delete from log_queue where seq > ${seq};
      update log_entries set tail = null
        where tail = '${did.slice(-24)}' and entry like '%"type":"status"%';
      commit`),
  )
}

test('private events move no number and no chain of a head, and nothing in it can be compared with them', async (t) => {
  const service = await startTestService(t)
  await certified(service)
  const before = decodeJws<FeedHeadClaims>((await readFeed(service)).head).claims
  await claimAgent(service, await service.operator.addVerifiedOwner())
  const marks = new Set<string>()
  // The head is signed again within a second, with a fresh mark.
  await until(async () => {
    const { epoch, n, chain, mark, ...rest } = decodeJws<FeedHeadClaims>(
      (await readFeed(service)).head,
    ).claims
    assert.deepEqual({ epoch, n, chain }, { epoch: before.epoch, n: before.n, chain: before.chain })
    assert.deepEqual(Object.keys(rest).toSorted(), ['asOf', 'exp', 'iat', 'iss'])
    assert.equal(Buffer.from(mark, 'base64url').length, 52)
    marks.add(mark)
    return marks.size >= 2
  })
})

test('changes are kept for 30 days, apart from the newest; older cursors are refused without a new epoch', async (t) => {
  const service = await startTestService(t)
  const { did } = await certified(service)
  const start = await readFeed(service)
  await setStatus(service, did, 'suspended')
  const middle = await readFeed(service)
  await setStatus(service, did, 'active')
  const { db } = service.operator
  const days = (count: number) => Date.now() + count * 24 * HOUR_MS
  await deleteOldFeedChanges(db, days(29))
  assert.equal((await readFeed(service, start.head)).changes.length, 2)
  await deleteOldFeedChanges(db, days(32))
  for (const cursor of [undefined, '0', start.head, middle.head]) {
    assertRefused(await askForFeed(service, cursor), 410, 'CURSOR_EXPIRED', /30 days/)
  }
  const { snapshot, claims } = await readSnapshot(service)
  assert.deepEqual([claims.epoch, claims.n], [start.claims.epoch, 2])
  await setStatus(service, did, 'revoked')
  const { changes } = await readFeed(service, snapshot.head)
  assert.deepEqual(
    changes.map(({ n, status }) => [n, status]),
    [[3, 1]],
  )
})

test('a command that writes first after a restore begins the epoch itself', async (t) => {
  const service = await startTestService(t)
  const { did, entry } = await certified(service)
  await setStatus(service, did, 'suspended')
  const { claims } = await readFeed(service)
  await service.stop()
  await withRaw(service.settings, (raw) =>
    raw.exec(`delete from settings where name = 'status-epoch'`),
  )
  const done = await countersignd(service.env, 'agent', 'revoke', did)
  assert.equal(done.code, 0, done.stderr)
  const { DATA_DIR, PORT } = service.env as { DATA_DIR: string; PORT: string }
  const again = await startTestService(t, { DATA_DIR, PORT })
  const read = await readFeed(again)
  assert.notEqual(read.claims.epoch, claims.epoch)
  assert.deepEqual(read.changes, [{ n: 1, ...entry, status: 1 }])
  const start = chainStart(again.url, read.claims.epoch)
  const [change] = read.changes as [FeedChange]
  assert.equal(read.claims.chain, encodeBase64Url(chainAfter(start, change)))
  assert.equal(await listedStatus(again, unallocated(entry)), 1, 'its lists are closed')
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
