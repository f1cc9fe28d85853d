import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateOf, certificatePath } from '../../../../test/support/agent-certificates.ts'
import { ask } from '../../../../test/support/ask.ts'
import { untilLogged } from '../../../../test/support/log-client.ts'
import { POSTGRES_ONLY } from '../../../../test/support/postgres.ts'
import {
  claimAgent,
  countersignd,
  startTestService,
  testEnv,
} from '../../../../test/support/service.ts'
import { startStallingProxy } from '../../../../test/support/stalling-proxy.ts'
import { listedStatus, readFeed, referenceIn } from '../../../../test/support/status-feed.ts'
import { until } from '../../../../test/support/until.ts'

const BOUND_MS = 2000

test(
  'a node that is stale issues no certificate and no staple, and publishes no status, until it is current again',
  POSTGRES_ONLY,
  async (t) => {
    const env = await testEnv(t, { MAX_STALENESS: '2' })
    const proxy = await startStallingProxy(t, env.DATABASE_URL as string)
    // It stands still until the test moves it: nothing is stale because a machine is slow.
    let elapsed = 0
    const node = await startTestService(
      t,
      { ...env, DATABASE_URL: proxy.url },
      Date.now,
      () => elapsed,
    )
    const did = await claimAgent(node, await node.operator.addVerifiedOwner())
    // From then on, the node has everything that the certificate says in memory.
    await untilLogged(node, 1)
    const entry = referenceIn(await certificateOf(node, did))
    const { head, claims } = await readFeed(node)
    const feed = '/api/v1/feed'
    const paths = [
      ...[certificatePath(did), certificatePath(did, '?alg=ES256'), `/api/v1/agent/${did}/staple`],
      ...[`/status/${entry.list}`, feed, `${feed}?after=${head}`, '/api/v1/snapshot'],
      `/api/v1/agent/${did}`,
    ]
    const statuses = async () =>
      Promise.all(paths.map(async (path) => (await ask(node, path)).status))
    assert.deepEqual(
      await statuses(),
      paths.map(() => 200),
    )
    const assertUnavailable = async (path: string, init?: Parameters<typeof ask>[2]) => {
      const { status, text } = await ask(node, path, init)
      assert.deepEqual([status, JSON.parse(text).error.code], [503, 'UNAVAILABLE'], path)
    }
    const stream = await openStream(t, node.url + feed)
    await until(async () => stream.text().includes('event: head'))

    proxy.pause()
    const revoked = await countersignd({ ...env, PORT: '0' }, 'agent', 'revoke', did)
    assert.equal(revoked.code, 0, revoked.stderr)
    elapsed = BOUND_MS
    // Changes of the feed are in the database alone.
    assert.deepEqual(
      await statuses(),
      paths.map((path) => (path.startsWith(feed) ? 503 : 200)),
      'until then, it answers from memory',
    )
    elapsed = BOUND_MS + 1
    for (const path of paths) await assertUnavailable(path)
    await assertUnavailable(feed, { headers: { accept: 'text/event-stream' } })
    // An open stream has no further head, so its readers know how old their knowledge is.
    const heads = () => stream.text().split('event: head').length
    const before = heads()
    for (let i = 1; i <= 3; i++) {
      node.tick()
      await until(async () => stream.text().split('\n:\n').length > i)
    }
    assert.equal(heads(), before)
    // It learns of a rotation from the database: after 30 seconds, it names no keys either.
    elapsed += 30_000
    await assertUnavailable('/.well-known/jwks.json')

    proxy.resume()
    await until(async () => {
      node.tick()
      return (await ask(node, certificatePath(did))).status === 409
    })
    assert.equal((await ask(node, '/.well-known/jwks.json')).status, 200)
    assert.equal(await listedStatus(node, entry), 1)
    const later = await readFeed(node, head)
    assert.equal(later.claims.epoch, claims.epoch, 'no event was lost')
    assert.deepEqual(
      later.changes.map(({ list, idx, status }) => ({ list, idx, status })),
      [{ ...entry, status: 1 }],
    )
    await until(async () => {
      node.tick()
      return stream.text().includes(`"idx":${entry.idx},"status":1`) && heads() > before
    })
  },
)

async function openStream(t: { after(end: () => unknown): void }, url: string) {
  const stop = new AbortController()
  t.after(() => stop.abort())
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream' },
    signal: stop.signal,
  })
  assert.equal(response.status, 200)
  let text = ''
  const read = async () => {
    for await (const part of response.body ?? []) text += Buffer.from(part).toString()
  }
  read().catch(() => undefined)
  return { text: () => text }
}
