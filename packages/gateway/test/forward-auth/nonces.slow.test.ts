import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { Redis } from 'ioredis'
import { fileCleanup } from '../../../../test/support/file-cleanup.ts'
import { startRedis } from '../../../../test/support/redis.ts'
import {
  type Cleanup,
  startTestService,
  type TestService,
} from '../../../../test/support/service.ts'
import { needs } from '../../../../test/support/tools.ts'
import { until } from '../../../../test/support/until.ts'
import { type GatewayProcess, startGateway } from '../support/gateway-process.ts'
import { SHOP, send, signForNewGateway, signingAgent } from '../support/signing.ts'

let service: TestService
let signer: Awaited<ReturnType<typeof signingAgent>>
const cleanup = fileCleanup()

before(async () => {
  service = await startTestService(cleanup)
  signer = await signingAgent(service)
})
type Test = Cleanup

const start = (t: Test, settings: object = {}) =>
  startGateway(t, {
    service: service.url,
    audiences: [SHOP],
    policy: { requireProof: true },
    ...settings,
  })

const sign = (method = 'GET') => signer.agent.sign(`${SHOP}/orders`, { method })

/** Asks as Caddy does. */
async function visit(gateway: GatewayProcess, request: Request) {
  const { status, headers } = await send(gateway.url, new Request(request.url, request), {
    method: 'GET',
    target: '/auth/forward',
    headers: {
      'x-forwarded-method': request.method,
      'x-forwarded-uri': '/orders',
      'x-forwarded-host': 'shop.example',
      'x-forwarded-proto': 'https',
    },
  })
  return { status, headers, retryAfter: headers['retry-after'] }
}

/** Signs with a nonce of the store until the gateway has read one. @returns the request that was admitted */
async function admitted(gateway: GatewayProcess, method: string): Promise<Request> {
  const unsigned = new Request(`${SHOP}/orders`, { method })
  let request = unsigned
  await until(async () => {
    request = await signForNewGateway(signer, unsigned, (each) => visit(gateway, each))
    return (await visit(gateway, request)).status === 200
  })
  return request
}

/** Asserts that a request is refused because the store cannot tell. @param longest the longest Retry-After, in seconds */
async function assertUnchecked(gateway: GatewayProcess, request: Request, longest = 65) {
  const { status, retryAfter } = await visit(gateway, request)
  assert.equal(status, 503)
  assert.ok(Number(retryAfter) >= 1 && Number(retryAfter) <= longest, String(retryAfter))
}

test('in the memory of a process: a restart forgets nonces, so what was signed before changes nothing', async (t) => {
  const first = await start(t)
  const [get, post] = [await admitted(first, 'GET'), await admitted(first, 'POST')]
  assert.equal((await visit(first, get)).status, 401)
  assert.equal((await visit(first, post)).status, 401)
  await first.stop()
  const second = await start(t)
  await assertUnchecked(second, post)
  assert.equal(
    (await second.logged(({ event }) => event === 'decision')).signature,
    'replay-unchecked',
  )
  assert.equal((await visit(second, get)).status, 200)
  const line = await second.logged(({ method }) => method === 'GET')
  assert.deepEqual([line.signature, line.replay], ['verified', 'unchecked'])
})

test('with one Redis, one of two processes admits a request', needs('redis-server'), async (t) => {
  const redis = await startRedis(t)
  const gateways = await Promise.all([1, 2].map(() => start(t, { nonces: redis.url })))
  const [first, second] = gateways as [GatewayProcess, GatewayProcess]
  for (const each of gateways) {
    await each.logged(({ note }) => note === 'Redis is connected.')
  }
  const post = await admitted(first, 'POST')
  assert.equal((await visit(second, post)).status, 401)
  assert.equal((await visit(first, post)).status, 401)
  const statuses = await Promise.all(
    Array.from({ length: 10 }, (_, i) => i).map(async (i) =>
      visit(gateways[i % 2] as GatewayProcess, post),
    ),
  )
  assert.ok(statuses.every(({ status }) => status === 401))
  await first.stop()
  const third = await start(t, { nonces: redis.url })
  await third.logged(({ note }) => note === 'Redis is connected.')
  assert.equal((await visit(third, post)).status, 401)
})

test('Redis down, back and empty: used nonces never count', needs('redis-server'), async (t) => {
  const redis = await startRedis(t)
  const gateway = await start(t, { nonces: redis.url.replace('://', '://user:secret@') })
  // Without a user of that name, Redis refuses every command.
  await gateway.logged(({ event, level }) => event === 'nonces' && level === 'error')
  assert.ok(!JSON.stringify(gateway.logs()).includes('secret'))
  await assertUnchecked(gateway, await sign('POST'), 1)

  const other = await start(t, { nonces: redis.url })
  await other.logged(({ note }) => note === 'Redis is connected.')
  const post = await admitted(other, 'POST')
  await redis.kill()
  await other.logged(({ event, level }) => event === 'nonces' && level === 'error')
  await assertUnchecked(other, await sign('POST'))
  assert.equal((await visit(other, await sign('GET'))).status, 200)
  // It has forgotten everything, and knows that.
  await redis.start()
  await until(
    async () => other.logs().filter(({ note }) => note === 'Redis is connected.').length === 2,
  )
  assert.equal((await visit(other, post)).status, 503)
  await admitted(other, 'POST')
})

test('a Redis that may evict nonces is reported', needs('redis-server'), async (t) => {
  const redis = await startRedis(t)
  const client = new Redis(redis.url)
  t.after(() => client.disconnect())
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const gateway = await start(t, { nonces: redis.url })
  const line = await gateway.logged(({ event, level }) => event === 'nonces' && level === 'warn')
  assert.equal(line.policy, 'allkeys-lru')
})

test('workers of node:cluster do not share a memory: none admits a request that changes state', async (t) => {
  const script = join(import.meta.dirname, '../support/cluster-site.mjs')
  const child = spawn(process.execPath, [script, service.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const port = await new Promise<string>((resolve) =>
    child.stdout.once('data', (data) => resolve(String(data).trim())),
  )
  const url = `http://127.0.0.1:${port}`
  // In the second of the start, a memory of one's own would not know either.
  const startedAt = Math.floor(Date.now() / 1000)
  await until(async () => Math.floor(Date.now() / 1000) > startedAt + 1)
  const post = await sign('POST')
  for (let i = 0; i < 4; i++) {
    const { status } = await send(url, post)
    // The one that has seen it knows that.
    assert.ok([401, 503].includes(status), String(status))
  }
  const { status, text } = await send(url, await sign('GET'))
  assert.deepEqual([status, text], [200, 'unchecked'])
})
