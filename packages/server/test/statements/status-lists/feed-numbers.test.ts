import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainAfter, chainStart, encodeBase64Url, type FeedChange } from '@countersign/protocol'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { readFeed } from '../../../../../test/support/status-feed.ts'
import { until } from '../../../../../test/support/until.ts'
import { appendFeedChange } from '../../../src/agents/changes/feed-change-table.ts'
import { setEntry } from '../../../src/agents/changes/status-entry-table.ts'
import type { Tx } from '../../../src/database/database.ts'

/** The chain over changes from the start of the epoch. */
function chainOf(issuer: string, epoch: string, changes: readonly FeedChange[]): string {
  return encodeBase64Url(changes.reduce(chainAfter, chainStart(issuer, epoch)))
}

test('changes that are rolled back leave no number and no gap, also in a group of writes', async (t) => {
  const service = await startTestService(t)
  await claimAgent(service, await service.operator.addVerifiedOwner())
  const { db } = service.operator
  const change = (tx: Tx, idx: number) =>
    setEntry(tx, { list: 7, idx, is_current: 1 }, 2, Date.now())
  const writes = Array.from({ length: 40 }, (_, i) =>
    db.write(async (tx) => {
      await change(tx, 2 * i)
      await change(tx, 2 * i + 1)
      // Its numbers were given; then it is undone, with or without those of its group.
      if (i % 3 === 1) throw new Error('undone')
    }),
  )
  const results = await Promise.allSettled(writes)
  const kept = results.filter(({ status }) => status === 'fulfilled').length
  assert.equal(kept, 27)
  await until(async () => (await readFeed(service)).claims.n === 2 * kept)
  const { changes, claims } = await readFeed(service)
  assert.deepEqual(
    changes.map(({ n }) => n),
    changes.map((_, i) => i + 1),
  )
  assert.equal(changes.length, 2 * kept)
  assert.ok(changes.every(({ idx }) => (idx >> 1) % 3 !== 1))
  assert.equal(claims.chain, chainOf(service.url, claims.epoch, changes))
})

test('numbers of concurrent writes follow each other, and each row has its place in the chain', async (t) => {
  const service = await startTestService(t)
  const { db } = service.operator
  const ends = await Promise.all(
    Array.from({ length: 100 }, (_, idx) =>
      db.write((tx) => appendFeedChange(tx, { list: 7, idx, status: 1 }, Date.now())),
    ),
  )
  assert.deepEqual(
    ends.map(({ n }) => n).toSorted((a, b) => a - b),
    ends.map((_, i) => i + 1),
  )
  const rows = await db.read.selectFrom('feed_changes').selectAll().orderBy('n').execute()
  let chain = chainStart(service.url, rows[0]?.epoch ?? '')
  for (const { n, list, idx, value, chain: stored } of rows) {
    chain = chainAfter(chain, { n, list, idx, status: value })
    assert.equal(encodeBase64Url(stored), encodeBase64Url(chain))
  }
})
