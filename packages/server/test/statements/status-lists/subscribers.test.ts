import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CodedError, type FeedChange } from '@countersign/protocol'
import { addressKey, networkKey } from '../../../src/http/limits/address-key.ts'
import type { FeedHeads } from '../../../src/statements/status-lists/feed-heads.ts'
import { type FeedFormat, StatusFeed } from '../../../src/statements/status-lists/status-feed.ts'
import type {
  StatusListener,
  StatusState,
} from '../../../src/statements/status-lists/status-state.ts'

const FORMAT: FeedFormat = {
  change: ({ n }) => `${n}\n`,
  head: (head) => `${head}\n`,
  heartbeat: 'still here\n',
}

/** A feed whose clock and changes a test moves. @param head of this text */
function testFeed(head: () => Promise<string>) {
  const clock = { elapsed: 0 }
  const changes: FeedChange[] = []
  const listeners: StatusListener[] = []
  const state = {
    addListener: (listener: StatusListener) => listeners.push(listener),
    get position() {
      return { epoch: 'e', n: changes.length, chain: '', asOf: 1000, last: null }
    },
    changes: async (after: number, upTo: number) => ({
      changes: changes.slice(after, upTo),
      next: upTo,
    }),
  }
  const feed = new StatusFeed(
    state as unknown as StatusState,
    { at: head } as unknown as FeedHeads,
    { now: () => 4000, elapsed: () => clock.elapsed },
  )
  const change = () => {
    changes.push({ n: changes.length + 1, list: 2147483646, idx: 131_071, status: 2 })
    for (const each of listeners) each.onChange()
  }
  return { feed, clock, change }
}

/** Until a head is due. */
async function tick(feed: StatusFeed, times = 5): Promise<void> {
  for (let i = 0; i < times; i++) await feed.tick()
  for (let i = 0; i < 5; i++) await nextTurn()
}

function client(address: string) {
  return { address: addressKey(address), network: networkKey(address) }
}

test('a subscriber that does not read is disconnected; one that reads is not', async () => {
  const { feed } = testFeed(async () => 'x'.repeat(64 * 1024))
  const [slow, quick] = [new PassThrough(), new PassThrough()]
  quick.resume()
  for (const stream of [slow, quick]) feed.subscribe(stream, 0, FORMAT, client('192.0.2.1'))
  for (let i = 0; i < 10; i++) await tick(feed)
  assert.deepEqual([slow.destroyed, quick.destroyed, feed.subscribers], [true, false, 1])
  assert.ok(slow.readableLength < 200_000, 'it holds little memory until then')
  assert.equal(feed.ageSeconds, 3)
  feed.endAll()
})

test('without a head, a heartbeat is sent, and the age of the newest head grows', async () => {
  const { feed } = testFeed(async () => {
    throw new Error('no key')
  })
  const stream = new PassThrough()
  feed.subscribe(stream, 0, FORMAT, client('192.0.2.1'))
  await tick(feed, 1)
  assert.match(String(stream.read()), /^(still here\n){2}$/)
  assert.equal(feed.ageSeconds, 0, 'since the start')
  assert.equal(feed.latest, null)
  feed.endAll()
})

test('a head is sent every five ticks, and with the first tick after a change', async () => {
  const { feed, change } = testFeed(async () => 'head')
  const stream = new PassThrough()
  await tick(feed, 1)
  feed.subscribe(stream, 0, FORMAT, client('192.0.2.1'))
  await tick(feed, 4)
  assert.equal(String(stream.read()), 'head\n', 'at the beginning')
  await tick(feed, 1)
  assert.equal(String(stream.read()), 'head\n')
  change()
  await tick(feed, 1)
  assert.equal(String(stream.read()), '1\nhead\n')
  await tick(feed, 1)
  assert.equal(stream.read(), null)
  feed.endAll()
})

test('the first change in a second gets a head at once, the others with the next tick', async () => {
  const { feed, clock, change } = testFeed(async () => 'head')
  const stream = new PassThrough()
  await tick(feed, 1)
  feed.subscribe(stream, 0, FORMAT, client('192.0.2.1'))
  await tick(feed, 1)
  stream.read()
  clock.elapsed += 1000
  change()
  await tick(feed, 0)
  assert.equal(String(stream.read()), '1\nhead\n')
  change()
  await tick(feed, 0)
  assert.equal(String(stream.read()), '2\n')
  await tick(feed, 1)
  assert.equal(String(stream.read()), 'head\n')
  feed.endAll()
})

test('polls get the newest 64 changes that fit, and the head, made once for each head', async () => {
  const { feed, change } = testFeed(async () => 'h'.repeat(600))
  await tick(feed)
  assert.equal(String(feed.latest?.body), `{"head":"${'h'.repeat(600)}"}\n`)
  for (let i = 0; i < 100_000; i++) change()
  const before = feed.latest
  assert.equal(feed.latest, before)
  await tick(feed, 1)
  const { body, etag } = feed.latest ?? assert.fail()
  assert.ok(body.length <= 4096, String(body.length))
  const lines = String(body)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(lines.at(-1).head.length, 600)
  const numbers = lines.slice(0, -1).map(({ n }) => n)
  assert.deepEqual([numbers.at(-1), numbers.length > 50], [100_000, true])
  assert.equal(numbers[0], 100_001 - numbers.length)
  assert.notEqual(etag, before?.etag)
})

test('a stream ends after 10 to 15 minutes', async () => {
  const { feed, clock } = testFeed(async () => 'head')
  const streams = Array.from({ length: 20 }, () => new PassThrough().resume())
  for (const stream of streams) feed.subscribe(stream, 0, FORMAT, client('192.0.2.1'))
  const ended = () => streams.filter((each) => each.writableEnded).length
  clock.elapsed = 10 * 60_000 - 1
  await tick(feed, 1)
  assert.equal(ended(), 0)
  clock.elapsed = 15 * 60_000
  await tick(feed, 1)
  assert.equal(ended(), 20)
})

const isRefused = (error: unknown) => error instanceof CodedError && error.code === 'UNAVAILABLE'

test('streams are limited by address and by network', async () => {
  const { feed } = testFeed(async () => 'head')
  const open = (address: string) => {
    const stream = new PassThrough().resume()
    feed.subscribe(stream, 0, FORMAT, client(address))
    return stream
  }
  const streams = Array.from({ length: 20 }, () => open('192.0.2.1'))
  assert.throws(() => open('192.0.2.1'), isRefused)
  for (let i = 0; i < 20; i++) open('192.0.2.2')
  assert.throws(() => open('192.0.2.3'), isRefused, 'the network has 40')
  open('198.51.100.1')
  for (let i = 0; i < 20; i++) open('2001:db8:1:2::1')
  assert.throws(() => open('2001:db8:1:2:ffff::2'), isRefused, 'the same /64')
  for (let i = 0; i < 20; i++) open('2001:db8:1:3::1')
  assert.throws(() => open('2001:db8:1:4::1'), isRefused, 'the same /48')
  open('2001:db8:2::1')
  streams[0]?.destroy()
  await nextTurn()
  open('192.0.2.3')
  feed.endAll()
})

test('if all places are taken, a newcomer gets that of the network with most streams', async () => {
  const { feed } = testFeed(async () => 'head')
  const open = (address: string) => {
    const stream = new PassThrough().resume()
    feed.subscribe(stream, 0, FORMAT, client(address))
    return stream
  }
  // 25 networks with 40 streams each.
  const greedy: PassThrough[] = []
  for (let i = 0; i < 1000; i++) greedy.push(open(`10.0.${i % 25}.${i % 50}`))
  assert.equal(feed.subscribers, 1000)
  const honest = open('192.0.2.1')
  assert.deepEqual([feed.subscribers, feed.evicted], [1000, 1])
  const evicted = greedy.findIndex((each) => each.destroyed)
  assert.ok(evicted >= 975, 'the newest of that network')
  assert.equal(honest.destroyed, false)
  // That network does not get it back: it would need two less than another.
  assert.throws(() => open(`10.0.${evicted % 25}.200`), isRefused)
  for (let i = 0; i < 30; i++) open(`192.0.2.${2 + (i % 10)}`)
  assert.equal(feed.subscribers, 1000)
  feed.endAll()
})

test('if each network has one stream, nobody is replaced', async () => {
  const { feed } = testFeed(async () => 'head')
  for (let i = 0; i < 1000; i++) {
    const address = `10.${i >> 8}.${i & 255}.1`
    feed.subscribe(new PassThrough().resume(), 0, FORMAT, client(address))
  }
  const newcomer = () => feed.subscribe(new PassThrough(), 0, FORMAT, client('192.0.2.1'))
  assert.throws(newcomer, isRefused)
  assert.equal(feed.evicted, 0)
  feed.endAll()
})
