import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import type { FeedChange } from '@countersign/protocol'
import { certificateOf } from '../../../../../test/support/agent-certificates.ts'
import { type Cleanup, claimAgent } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { readFeed, referenceIn } from '../../../../../test/support/status-feed.ts'
import { until } from '../../../../../test/support/until.ts'
import {
  asTestService,
  byWorker,
  getOverNewConnection,
  startWithWorkers,
  untilAllAnswer,
} from './worker-service.ts'

const WORKERS = 2
const STREAMS = 4 * WORKERS

test('a change reaches the feeds of all workers once, and a cursor of one worker continues at every other', async (t) => {
  const service = await startWithWorkers(t, WORKERS)
  await untilAllAnswer(service, WORKERS)
  const site = asTestService(service)
  const did = await claimAgent(site, await service.operator.addVerifiedOwner())
  const entry = referenceIn(await certificateOf(site, did))
  const { head } = await readFeed(site)
  const streams: Stream[] = []
  for (let i = 0; i < STREAMS; i++) streams.push(await openStream(t, service.url, head))
  const subscribers = async () => byWorker(await service.metrics(), 'countersign_feed_subscribers')
  await until(async () => [...(await subscribers()).values()].every((count) => count > 0))

  await setStatus(site, did, 'suspended')
  await setStatus(site, did, 'active')
  await setStatus(site, did, 'revoked')
  const statuses = ({ changes }: Stream) => changes().map(({ status }) => status)
  for (const stream of streams) await until(async () => stream.changes().length >= 3)
  for (const stream of streams) {
    assert.deepEqual(statuses(stream), [2, 0, 1])
    assert.deepEqual(
      stream.changes().map(({ n }) => n),
      streams[0]?.changes().map(({ n }) => n),
    )
    for (const { list, idx } of stream.changes()) assert.deepEqual({ list, idx }, entry)
  }
  // Every worker continues from the cursor, also right after the change at another one.
  const asked = Array.from({ length: STREAMS }, () =>
    getOverNewConnection(`${service.url}/api/v1/feed?after=${head}`),
  )
  for (const { status, text } of await Promise.all(asked)) {
    assert.equal(status, 200, text)
    assert.equal(text.trimEnd().split('\n').length, 4, 'three changes and a head')
  }
})

interface Stream {
  changes(): FeedChange[]
}

/** Opens the feed over a new connection, which may reach any worker. */
async function openStream(t: Cleanup, url: string, after: string): Promise<Stream> {
  const headers = { accept: 'text/event-stream' }
  const asked = request(`${url}/api/v1/feed?after=${after}`, { agent: false, headers }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  t.after(() => asked.destroy())
  let text = ''
  response.on('data', (chunk) => (text += chunk)).on('error', () => undefined)
  const changes = () =>
    [...text.matchAll(/^event: change\ndata: (.+)\n\n/gm)].map(([, data]) => JSON.parse(data ?? ''))
  return { changes }
}
