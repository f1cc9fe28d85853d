import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CodedError } from '@countersign/protocol'
import type { FeedHeads } from '../../../src/statements/status-lists/feed-heads.ts'
import { type FeedFormat, StatusFeed } from '../../../src/statements/status-lists/status-feed.ts'
import type { StatusState } from '../../../src/statements/status-lists/status-state.ts'

const FORMAT: FeedFormat = {
  change: () => '',
  head: (head) => `${head}\n`,
  heartbeat: 'still here\n',
}

/** A feed in which nothing happens. @param head of this text */
function quietFeed(head: () => Promise<string>): StatusFeed {
  const state = {
    addListener: () => undefined,
    position: { epoch: 'e', seq: 0, digest: '', asOf: 1000 },
  }
  return new StatusFeed(
    state as unknown as StatusState,
    { at: head } as unknown as FeedHeads,
    () => 4000,
  )
}

async function tick(feed: StatusFeed): Promise<void> {
  await feed.tick()
  for (let i = 0; i < 5; i++) await nextTurn()
}

test('a subscriber that does not read is disconnected; one that reads is not', async () => {
  const feed = quietFeed(async () => 'x'.repeat(64 * 1024))
  const [slow, quick] = [new PassThrough(), new PassThrough()]
  quick.resume()
  for (const stream of [slow, quick]) feed.subscribe(stream, 0, FORMAT, 'an address')
  for (let i = 0; i < 10; i++) await tick(feed)
  assert.deepEqual([slow.destroyed, quick.destroyed, feed.subscribers], [true, false, 1])
  assert.ok(slow.readableLength < 200_000, 'it holds little memory until then')
  assert.equal(feed.ageSeconds, 3)
  feed.endAll()
})

test('without a head, a heartbeat is sent, and the age of the newest head grows', async () => {
  const feed = quietFeed(async () => {
    throw new Error('no key')
  })
  const stream = new PassThrough()
  feed.subscribe(stream, 0, FORMAT, 'an address')
  await tick(feed)
  assert.match(String(stream.read()), /^(still here\n){2}$/)
  assert.equal(feed.ageSeconds, 0, 'since the start')
  feed.endAll()
})

test('the streams of one address are limited', async () => {
  const feed = quietFeed(async () => 'head')
  const streams = Array.from({ length: 200 }, () => new PassThrough().resume())
  for (const stream of streams) feed.subscribe(stream, 0, FORMAT, 'one')
  const further = () => feed.subscribe(new PassThrough().resume(), 0, FORMAT, 'one')
  assert.throws(further, (error) => error instanceof CodedError && error.code === 'UNAVAILABLE')
  feed.subscribe(new PassThrough().resume(), 0, FORMAT, 'another')
  streams[0]?.destroy()
  await nextTurn()
  further()
  feed.endAll()
})
