import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { type TestContext, test } from 'node:test'
import { certificateOf } from './support/agent-certificates.ts'
import { type Front, prepareFront } from './support/front.ts'
import { claimAgent, startTestService } from './support/service.ts'
import { setStatus } from './support/set-status.ts'
import { listedStatus, readFeed, referenceIn } from './support/status-feed.ts'
import { needs } from './support/tools.ts'
import { until, untilTicked } from './support/until.ts'

const NGINX = needs('nginx')

async function startBehindNginx(t: TestContext) {
  const front = await prepareFront(t, 'nginx')
  const service = await startTestService(t, {
    BASE_URL: front.origin,
    TRUSTED_PROXIES: '127.0.0.1,::1',
  })
  await front.start(service.env.PORT as string)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const entry = referenceIn(await certificateOf(service, did))
  await untilTicked(service, async () => (await front.ask('/api/v1/feed/latest')).status === 200)
  return { front, service, did, entry }
}

test(
  'nginx answers from its cache what many followers ask for, and nothing else',
  NGINX,
  async (t) => {
    const { front, service, did, entry } = await startBehindNginx(t)
    const { head } = await readFeed(service)
    const shared = [
      `/status/${entry.list}`,
      '/api/v1/snapshot',
      '/api/v1/feed/latest',
      `/api/v1/feed?after=${head}`,
      '/.well-known/jwks.json',
      '/log/tile/entries/000.p/1',
    ]
    for (const path of shared) {
      await until(async () => {
        const [first, second] = [await front.ask(path), await front.ask(path)]
        assert.equal(first.status, 200, `${path}: ${first.text}`)
        // A second may pass between the two.
        return second.headers['x-cache'] === 'HIT' && second.text === first.text
      })
    }
    for (const path of [
      `/api/v1/agent/${did}`,
      `/api/v1/agent/${did}/certificate`,
      '/log/checkpoint',
    ])
      assert.equal((await front.ask(path)).headers['x-cache'], undefined, path)

    await setStatus(service, did, 'revoked')
    assert.match((await front.ask(`/api/v1/agent/${did}`)).text, /"revoked"/)
    assert.equal(await listedStatus(service, entry), 1)
    const token = (await front.ask(`/status/${entry.list}`)).text
    await until(async () => (await front.ask(`/status/${entry.list}`)).text !== token)
  },
)

/** On a machine that is so busy that the service takes five seconds, nginx lets those that wait pass. */
const ATTEMPTS = 3

test('of many who poll at once, one a second reaches the service', NGINX, async (t) => {
  let fault: string | null = ''
  for (let attempt = 0; fault !== null && attempt < ATTEMPTS; attempt++) fault = await tooMany(t)
  assert.equal(fault, null)
})

/** @returns how many of 200 at once have reached a new service, if that is more than one a second */
async function tooMany(t: TestContext): Promise<string | null> {
  const { front, service } = await startBehindNginx(t)
  const { head } = await readFeed(service)
  // The second is not in the cache yet.
  for (const path of ['/api/v1/feed/latest', `/api/v1/feed?after=${head}`]) {
    const started = performance.now()
    const answers = await Promise.all(Array.from({ length: 200 }, () => front.ask(path)))
    const seconds = (performance.now() - started) / 1000
    for (const { status } of answers) assert.equal(status, 200)
    const caching = answers.map(({ headers }) => String(headers['x-cache']))
    const passedOn = caching.filter((each) => !['HIT', 'UPDATING', 'STALE'].includes(each)).length
    if (passedOn > Math.ceil(seconds) + 1) return `${path}: ${passedOn} in ${seconds} s`
  }
  return null
}

test(
  'streams with the same cursor are open beside each other, and show changes at once',
  NGINX,
  async (t) => {
    const { front, service, did, entry } = await startBehindNginx(t)
    const { head } = await readFeed(service)
    const streams = await Promise.all([openStream(t, front, head), openStream(t, front, head)])
    await setStatus(service, did, 'suspended')
    const wanted = JSON.stringify({ ...entry, status: 2 }).slice(1)
    for (const stream of streams) await stream.until(wanted)
  },
)

async function openStream(t: TestContext, front: Front, head: string) {
  const { hostname, port } = new URL(front.origin)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const asked = request({
      host: '127.0.0.1',
      servername: hostname,
      port,
      path: `/api/v1/feed?after=${head}`,
      headers: { host: `${hostname}:${port}`, accept: 'text/event-stream' },
      ca: front.ca,
      agent: false,
    })
    asked.on('response', resolve).on('error', reject).end()
    t.after(() => asked.destroy())
  })
  assert.equal(response.statusCode, 200)
  let text = ''
  response.on('data', (chunk) => (text += chunk)).on('error', () => undefined)
  return { until: (part: string) => until(async () => text.includes(part)) }
}
