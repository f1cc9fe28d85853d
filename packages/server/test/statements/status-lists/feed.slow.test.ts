import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  FeedChain,
  type FeedChange,
  type FeedHeadClaims,
  type FeedLine,
  type SnapshotClaims,
} from '@countersign/protocol'
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list'
import {
  certificateOf,
  decodeJws,
  stapleOf,
} from '../../../../../test/support/agent-certificates.ts'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import {
  askForFeed,
  inflateList,
  listedStatus,
  type Reference,
  readFeed,
  readSnapshot,
  referenceIn,
  statusInSnapshot,
  verifiedClaims,
} from '../../../../../test/support/status-feed.ts'
import { until } from '../../../../../test/support/until.ts'
import { EventSource } from '../../pages/dashboard/event-source.ts'

const FEED = '/api/v1/feed'

async function certified(service: TestService): Promise<{ did: string; entry: Reference }> {
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  return { did, entry: referenceIn(await certificateOf(service, did)) }
}

async function openFeed(
  t: TestContext,
  service: TestService,
  after?: string,
  lastEventId?: string,
): Promise<EventSource> {
  const again = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  const query = after === undefined ? '' : `?after=${after}`
  const response = await fetch(`${service.url}${FEED}${query}`, {
    headers: { accept: 'text/event-stream', ...again },
  })
  const stream = new EventSource(response)
  t.after(() => stream.close().catch(() => undefined))
  return stream
}

/** The next lines of a stream up to a change. Heads may come at any time. */
async function nextChange(stream: EventSource): Promise<FeedLine> {
  for (;;) {
    const event = await stream.next()
    assert.ok(event !== null, 'the stream has ended')
    if (event.event === 'change') return event.data as unknown as FeedLine
    assert.equal(event.event, 'head')
  }
}

async function nextHead(stream: EventSource): Promise<string> {
  for (;;) {
    const event = await stream.next()
    assert.ok(event !== null, 'the stream has ended')
    if (event.event === 'head') return event.data.head as string
  }
}

test('status lists, the feed and its snapshot', async (t) => {
  const service = await startTestService(t)
  const first = await certified(service)

  await t.test('a list is a token as the draft says, verified by jose', async () => {
    const target = `/status/${first.entry.list}`
    const answer = await ask(service, target)
    assert.equal(answer.headers.get('content-type'), 'application/statuslist+jwt')
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=5, stale-while-revalidate=1')
    assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    const claims = await verifiedClaims<Record<string, unknown>>(
      service,
      answer.text,
      'statuslist+jwt',
    )
    const { sub, iat, exp, ttl, status_list, feed, ...others } = claims
    assert.deepEqual(others, {})
    const { epoch, n } = (await readFeed(service)).claims
    assert.deepEqual(feed, { epoch, n })
    assert.deepEqual([sub, ttl], [`${service.url}${target}`, 30])
    assert.equal((exp as number) - (iat as number), 600)
    assert.ok(Math.abs((iat as number) - Date.now() / 1000) < 120)
    const { bits, lst } = status_list as { bits: number; lst: string }
    assert.equal(bits, 2)
    assert.equal((await inflateList(lst)).length * 4, 131_072)
    assert.equal(getListFromStatusListJWT(answer.text).statusList.length, 131_072)
    const etag = answer.headers.get('etag') as string
    const again = await ask(service, target, { headers: { 'if-none-match': etag } })
    // Signed again after five seconds, which may have passed on a busy machine.
    assert.ok(again.status === 304 || again.headers.get('etag') !== etag)
    for (const list of ['0', '-1', '1.0', '01', '99999999999', 'x', String(first.entry.list + 1)])
      assertRefused(await ask(service, `/status/${list}`), 404, 'NOT_FOUND')
  })

  await t.test('the feed continues after each of its heads', async () => {
    const start = await readFeed(service)
    const { iss, iat, exp, epoch, n, asOf, chain, mark } = await verifiedClaims<FeedHeadClaims>(
      service,
      start.head,
      'svc-feed+jwt',
    )
    assert.equal(iss, service.url)
    assert.equal(exp - iat, 60)
    assert.ok(Number.isInteger(asOf))
    assert.equal(iat, Math.floor(asOf / 1000))
    assert.match(epoch, /^[\w-]{22}$/)
    assert.match(chain, /^[\w-]{43}$/)
    assert.match(mark, /^[\w-]{70}$/)
    await setStatus(service, first.did, 'suspended')
    const next = await readFeed(service, start.head)
    assert.equal(next.changes.length, 1)
    assert.deepEqual(next.changes, [{ n: n + 1, ...first.entry, status: 2 }])
    assert.equal(next.claims.n, n + 1)
    const position = { epoch, n, chain, asOf }
    const following = new FeedChain(position)
    for (const change of next.changes) following.apply(change)
    assert.notEqual(following.accept({ ...next.claims, asOf: next.claims.asOf + 1 }), 'older')
    assert.equal(next.claims.epoch, epoch)
    assert.deepEqual((await readFeed(service, next.head)).changes, [])
    await setStatus(service, first.did, 'active')
    const both = await readFeed(service, start.head)
    assert.deepEqual(
      both.changes.map(({ status }) => status),
      [2, 0],
    )
    const all = (await readFeed(service)).changes
    assert.deepEqual((await readFeed(service, '0')).changes, all)
    assert.deepEqual(all.slice(-2), both.changes)
  })

  await t.test(
    'a stream sends each change once, in order, and continues where it ended',
    async (t) => {
      const { did, entry } = await certified(service)
      const { head } = await readFeed(service)
      const stream = await openFeed(t, service, head)
      assert.match(stream.headers.get('content-type') as string, /^text\/event-stream/)
      assert.equal(stream.headers.get('cache-control'), 'no-store')
      const opened = await nextHead(stream)
      await setStatus(service, did, 'suspended')
      await setStatus(service, did, 'active')
      const statuses = [await nextChange(stream), await nextChange(stream)]
      assert.deepEqual(
        statuses.map((each) => ({ ...each, n: 0 })),
        [2, 0].map((status) => ({ n: 0, ...entry, status })),
      )
      // A head that was signed after the changes.
      let newest = opened
      while (decodeJws<FeedHeadClaims>(newest).claims.n < (statuses[1] as FeedChange).n) {
        service.tick()
        newest = await nextHead(stream)
      }
      await stream.close()
      await setStatus(service, did, 'revoked')
      // The header of a reconnecting browser wins over the URL that it began with.
      const again = await openFeed(t, service, head, newest)
      assert.equal(((await nextChange(again)) as { status: number }).status, 1)
    },
  )

  await t.test('what is no cursor of this service is refused', async () => {
    const { head } = await readFeed(service)
    const certificate = await certificateOf(service, first.did)
    const list = await ask(service, `/status/${first.entry.list}`)
    const { snapshot } = await readSnapshot(service)
    const [header, payload, signature] = head.split('.') as [string, string, string]
    const claims = decodeJws<FeedHeadClaims>(head).claims
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const forged = `${header}.${encode({ ...claims, n: claims.n + 1000 })}.${signature}`
    const none = `${encode({ alg: 'none', typ: 'svc-feed+jwt', kid: 'x' })}.${payload}.${signature}`
    const others = [certificate, await stapleOf(service, first.did), list.text, snapshot.manifest]
    for (const cursor of ['1', 'x', '-1', ...others, forged, none, `${head}x`]) {
      assertRefused(await askForFeed(service, cursor), 400, 'VALIDATION_ERROR')
    }
    assert.equal((await readFeed(service)).claims.epoch, claims.epoch, 'no cursor ends the epoch')
    // As after a rotation of the key that signed it.
    const { header: known } = decodeJws(head)
    const retired = `${encode({ ...known, kid: 'A'.repeat(43) })}.${payload}.${signature}`
    const answer = await askForFeed(service, retired)
    assertRefused(answer, 410, 'CURSOR_EXPIRED', /api\/v1\/snapshot/)
    assert.equal(answer.headers.get('link'), `<${service.url}/api/v1/snapshot>; rel="start"`)
  })

  await t.test(
    'a snapshot has every list in one state, from which the feed continues',
    async () => {
      const { did, entry } = await certified(service)
      await setStatus(service, did, 'suspended')
      const current = async () => {
        const { snapshot } = await readSnapshot(service)
        return (await statusInSnapshot(snapshot, entry)) === 2
      }
      // A snapshot may be five seconds old.
      await until(current)
      const { snapshot, claims } = await readSnapshot(service)
      await verifiedClaims<SnapshotClaims>(service, snapshot.manifest, 'svc-snapshot+jwt')
      const head = decodeJws<FeedHeadClaims>(snapshot.head).claims
      for (const member of ['iss', 'epoch', 'n', 'chain'] as const)
        assert.equal(claims[member], head[member], member)
      assert.equal(claims.lists.length, snapshot.lists.length)
      for (const { list, lst } of snapshot.lists) {
        const bytes = await inflateList(lst)
        const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes))
        const hash = Buffer.from(digest).toString('base64url')
        assert.deepEqual(
          claims.lists.find((each) => each.list === list),
          { list, hash },
        )
      }
      await setStatus(service, did, 'revoked')
      const { changes } = await readFeed(service, snapshot.head)
      assert.deepEqual(
        changes.filter(({ idx, list }) => idx === entry.idx && list === entry.list).at(-1)?.status,
        1,
      )
      assert.equal(await listedStatus(service, entry), 1)
      const plain = await fetch(`${service.url}/api/v1/snapshot`, {
        headers: { 'accept-encoding': 'identity' },
      })
      assert.equal(plain.headers.get('content-encoding'), null)
      assert.equal(plain.headers.get('vary'), 'Accept-Encoding')
      await plain.json()
      const compressed = await fetch(`${service.url}/api/v1/snapshot`)
      assert.equal(compressed.headers.get('content-encoding'), 'gzip')
      await compressed.json()
    },
  )

  await t.test('streams end when the service stops', async (t) => {
    const stream = await openFeed(t, service)
    await nextHead(stream)
    await claimAgent(service, await service.operator.addVerifiedOwner(), newKey())
    const stopped = service.stop()
    while ((await stream.next()) !== null);
    await stopped
  })
})
