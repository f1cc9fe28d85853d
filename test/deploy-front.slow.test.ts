import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import sharp from 'sharp'
import { DocPage } from './support/doc-page.ts'
import { type Front, type FrontName, prepareFront } from './support/front.ts'
import {
  claimAgent,
  claimBody,
  ROOT,
  run,
  startTestService,
  type TestService,
  tempDir,
} from './support/service.ts'
import { startSessionOf } from './support/signed-in.ts'
import { needs } from './support/tools.ts'

const OPERATORS = new DocPage('docs/operators.md', import.meta.filename)
const MIB = 1024 * 1024

async function start(t: TestContext, name: FrontName, file?: string) {
  const front = await prepareFront(t, name, file)
  const service = await startTestService(t, {
    BASE_URL: front.origin,
    TRUSTED_PROXIES: '127.0.0.1,::1',
    PREVIEWS: 'rate-limit',
    RATE_LIMITS: 'failed-claims=2/h',
  })
  await front.start(service.env.PORT as string)
  return { front, service }
}

for (const name of ['caddy', 'nginx'] as const) {
  test(
    `${name}: clients reach the service over TLS and are distinguished by the address that the proxy sees`,
    needs(name),
    async (t) => {
      const { front, service } = await start(t, name)
      const did = await claimAgent(service, await service.operator.addVerifiedOwner())
      const found = await front.ask(`/api/v1/agent/${did}`)
      assert.equal(found.status, 200)
      const { text } = await front.ask(`/api/agents/${did}/card`)
      assert.ok(text.includes(`${front.origin}/agent/`), text)

      await assertToldApart(front)
    },
  )

  test(
    `${name}: accepted requests come through, and others are refused with the service’s own errors`,
    needs(name),
    async (t) => {
      const { front, service } = await start(t, name)
      const owner = await service.operator.addVerifiedOwner()
      const put = await avatarsOf(service, front, owner)
      const picture = await noise()
      assert.ok(picture.length > 2 * MIB && picture.length < 5 * MIB, String(picture.length))
      const set = await put(picture)
      assert.equal(set.status, 200, set.text)
      const again = await put(picture)
      assert.deepEqual(
        [again.status, again.text],
        [200, set.text],
        'a second time it changes nothing',
      )
      for (const mebibytes of [5.5, 8]) {
        const { status, text } = await put(randomBytes(mebibytes * MIB))
        assert.equal(status, 413, text)
        const { error } = JSON.parse(text)
        assert.deepEqual(Object.keys(error), ['code', 'message', 'requestId'])
        assert.equal(error.code, 'PAYLOAD_TOO_LARGE')
        if (mebibytes < 6) assert.equal(error.message, 'The body has more than 5 MiB.')
      }

      const withHeader = (bytes: number) =>
        front.ask('/api/v1/agent/none', { headers: { 'x-long': 'x'.repeat(bytes) } })
      for (const bytes of [9_000, 15_000]) {
        const { error } = JSON.parse((await withHeader(bytes)).text)
        assert.match(error.message, /DID/, `${bytes}: the question was read`)
      }
      const { error } = JSON.parse((await withHeader(17_000)).text)
      assert.match(error.message, /more than 16 KiB/)
    },
  )

  test(`${name}: events are forwarded immediately`, needs(name), async (t) => {
    const { front, service } = await start(t, name)
    const owner = await service.operator.addVerifiedOwner()
    const { cookie } = await startSessionOf(service, owner)
    const stream = await openStream(t, front, cookie)
    const did = await claimAgent(service, owner)
    // It arrives while the stream is open: nothing ends it.
    await stream.until(did)
  })
}

test('nginx retries only requests that change nothing', needs('nginx'), async (t) => {
  const front = await prepareFront(t, 'nginx')
  const service = await startTestService(t, { BASE_URL: front.origin })
  const failing = await startFailingNode(t)
  await front.start(failing.port, service.env.PORT as string)
  const statuses = async (method: string) => {
    failing.asked.length = 0
    const found = new Set<number>()
    for (let i = 0; i < 4; i++) found.add((await front.ask('/nowhere', { method })).status)
    assert.ok(failing.asked.includes(method), 'it was sent to the node that ends')
    return [...found].toSorted()
  }
  for (const method of ['GET', 'PUT', 'DELETE']) assert.deepEqual(await statuses(method), [404])
  for (const method of ['POST', 'PATCH']) assert.deepEqual(await statuses(method), [404, 502])
})

/** A node that closes the connection after every request. */
async function startFailingNode(t: TestContext) {
  const asked: string[] = []
  const server = createServer((incoming) => {
    asked.push(incoming.method as string)
    incoming.socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => new Promise((resolve) => server.close(resolve)))
  return { asked, port: String((server.address() as AddressInfo).port) }
}

test('Caddy closes idle connections before the service does', needs('caddy'), async (t) => {
  const service = await startTestService(t)
  const { headers } = await fetch(`${service.url}/healthz`)
  const served = Number(/timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1])
  const env = { HOME: tempDir(t) }
  const file = join(ROOT, 'deploy/caddy/service.Caddyfile')
  const adapted = await run('caddy', ['adapt', '--config', file, '--adapter', 'caddyfile'], env)
  assert.equal(adapted.code, 0, adapted.stderr)
  const [, idle] = /"keep_alive":\{[^}]*"idle_timeout":(\d+)/.exec(adapted.stdout) ?? []
  assert.ok(Number(idle) / 1e9 < served, `${idle} ns, ${served} s`)
})

test(
  'the Caddyfile of docs/operators.md keeps client addresses apart',
  needs('caddy'),
  async (t) => {
    const { front } = await start(t, 'caddy', OPERATORS.take('3. Put it on the internet', 'caddy'))
    await assertToldApart(front)
    const settings = new DocPage('docs/operators.md', join(ROOT, 'test/docs-hosting.slow.test.ts'))
    const [, TRUSTED_PROXIES = ''] =
      /TRUSTED_PROXIES=(.*)/.exec(settings.take('3. Put it on the internet', 'sh')) ?? []
    const rate = { PREVIEWS: 'rate-limit', RATE_LIMITS: 'failed-claims=1/h' }
    const { env } = await startTestService(t, { HOST: '::', TRUSTED_PROXIES, ...rate })
    for (const [proxy, client, other] of [
      ['127.0.0.1', '203.0.113.1', '203.0.113.2'],
      ['[::1]', '203.0.113.3', '203.0.113.4'],
    ] as const) {
      const claim = (address: string) =>
        fetch(`http://${proxy}:${env.PORT}/api/v1/claim`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
          body: JSON.stringify(claimBody(`svc-verify-${'0'.repeat(32)}`)),
        }).then(({ status }) => status)
      assert.deepEqual([await claim(client), await claim(client)], [404, 429], proxy)
      assert.equal(await claim(other), 404, `${proxy}: another client`)
    }
    OPERATORS.assertAllTaken()
  },
)

/** For a front whose service allows two failed claims for each address. */
async function assertToldApart(front: Front): Promise<void> {
  const badClaim = (localAddress: string, forged: string) =>
    front.ask(
      '/api/v1/claim',
      { method: 'POST', localAddress, headers: { 'x-forwarded-for': forged } },
      claimBody(`svc-verify-${'0'.repeat(32)}`),
    )
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) statuses.push((await badClaim('127.0.0.2', `203.0.113.${i}`)).status)
  assert.deepEqual(statuses, [404, 404, 429], 'what a client says of its address is not believed')
  assert.equal((await badClaim('127.0.0.3', '127.0.0.2')).status, 404, 'another client')
}

/** Gives an agent pictures, through the front. */
async function avatarsOf(service: TestService, front: Front, owner: number) {
  const did = await claimAgent(service, owner)
  const signedIn = await startSessionOf(service, owner)
  return (picture: Uint8Array) =>
    front.ask(
      `/api/account/agents/${did}/avatar`,
      { method: 'PUT', headers: { ...signedIn, 'content-type': 'image/png' } },
      picture,
    )
}

/** A picture that does not get smaller by being compressed. */
function noise(): Promise<Buffer> {
  const raw = { width: 900, height: 900, channels: 3 } as const
  return sharp(randomBytes(900 * 900 * 3), { raw })
    .png()
    .toBuffer()
}

interface Stream {
  /** Resolves once the text has come. */
  until(text: string): Promise<void>
}

function openStream(t: TestContext, front: Front, cookie: string): Promise<Stream> {
  const { port } = new URL(front.origin)
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: '/api/account/stream',
        // The certificate was made a moment ago, for this test.
        rejectUnauthorized: false,
        headers: { cookie, host: `localhost:${port}`, 'accept-encoding': 'gzip' },
        agent: false,
      },
      (incoming) => {
        assert.equal(incoming.statusCode, 200)
        assert.equal(incoming.headers['content-encoding'], undefined)
        let text = ''
        const waiting: (() => void)[] = []
        incoming.on('data', (chunk) => {
          text += chunk
          for (const look of waiting) look()
        })
        incoming.on('error', () => undefined)
        resolve({
          until: (wanted) =>
            new Promise((found, missed) => {
              const late = setTimeout(() => missed(new Error(`it did not come: ${text}`)), 60_000)
              const look = () => {
                if (!text.includes(wanted)) return
                clearTimeout(late)
                found()
              }
              waiting.push(look)
              look()
            }),
        })
      },
    )
    t.after(() => outgoing.destroy())
    outgoing.on('error', reject)
    outgoing.end()
  })
}

test('Caddy accepts its file unchanged', needs('caddy'), async (t) => {
  const file = join(ROOT, 'deploy/caddy/service.Caddyfile')
  const env = { HOME: tempDir(t) }
  const { code, stderr } = await run(
    'caddy',
    ['validate', '--config', file, '--adapter', 'caddyfile'],
    env,
  )
  assert.equal(code, 0, stderr)
})
