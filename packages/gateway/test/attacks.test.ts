import assert from 'node:assert/strict'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import fastify from 'fastify'
import { sendRaw } from '../../../test/support/raw-http.ts'
import type { Cleanup } from '../../../test/support/service.ts'
import type { Decision } from '../src/decision/decision.ts'
import { gateway as forFastify } from '../src/fastify.ts'
import type { GatewayOptions } from '../src/options.ts'
import {
  BOTS_ALLOWED,
  botSigner,
  NO_SERVICE,
  startBotSite,
  startDirectory,
} from './support/directory-site.ts'
import { olderNonceStore, SHOP, send } from './support/signing.ts'

// Signers of a directory sign as agents of the service do, and need no service here.

type Test = Cleanup
type Signer = ReturnType<typeof botSigner>

async function start(t: Test, framework = 'Express', options: Partial<GatewayOptions> = {}) {
  const bot = botSigner()
  const { fetch: fetchDirectory } = await startDirectory(t, [bot.jwk])
  const site = await startBotSite(
    t,
    { policy: BOTS_ALLOWED, fetchDirectory, ...options },
    framework,
  )
  return { ...site, bot }
}

/** Sends exactly these lines. @returns the status */
async function sendLines(url: string, lines: readonly string[], body = ''): Promise<number> {
  const { answers } = await sendRaw(
    url,
    `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`,
  )
  return answers[0]?.status ?? 0
}

const fieldsOf = (request: Request) =>
  [...request.headers].map(([name, value]) => `${name}: ${value}`)

/** Fastify reads requests as Express does, and Hono as fetch handlers do. */
for (const framework of ['Express', 'fetch']) {
  test(`${framework}: paths as they are sent, encoded or not, and no other path of the same meaning`, async (t) => {
    const { url, bot } = await start(t, framework)
    for (const target of [
      '/a%2Fb',
      '/%E2%82%AC',
      '/it%27s',
      '/a;b',
      '//evil',
      '/?',
      '/a?b=%20',
      '/a?',
    ]) {
      assert.equal((await send(url, await bot.sign(SHOP + target))).status, 200, target)
    }
    const signed = async (path: string, target: string) =>
      (await send(url, await bot.sign(SHOP + path), { target })).status
    for (const [path, target] of [
      ['/a/b', '/a%2Fb'],
      ['/a', '/%61'],
      ['/a', '//a'],
      ['/a', '/a/'],
      ['/a', '/A'],
      ['/a', '/a?'],
      ['/a?', '/a'],
      ['/a?b=c', '/a?b=c&b=d'],
      ['/evil', '//evil'],
    ] as const) {
      assert.ok([400, 401].includes(await signed(path, target)), `${path} as ${target}`)
    }
  })

  test(`${framework}: a proxy that lowers names, and reorders and joins headers, does no harm`, async (t) => {
    const { url, bot, reason } = await start(t, framework)
    const shuffled = async () => {
      const request = await bot.sign(`${SHOP}/orders?id=1`, {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: 'one',
      })
      return fieldsOf(request).reverse()
    }
    const head = ['POST /orders?id=1 HTTP/1.1', 'content-length: 3']
    const lowered = [...head, ...(await shuffled()), 'host: shop.example', 'via: 1.1 proxy']
    assert.equal(await sendLines(url, lowered, 'one'), 200, String(reason()))
    const upper = (await shuffled()).map((line) =>
      line.replace(/^[^:]*/, (name) => name.toUpperCase()),
    )
    const spaced = upper.map((line) => line.replace(': ', ':  \t'))
    assert.equal(await sendLines(url, [...head, 'HOST: shop.example', ...spaced], 'one'), 200)
    // Two signatures on lines of their own are joined by the next proxy.
    const [first, ...rest] = await shuffled()
    const joined = [first ?? '', ...rest].map((line) =>
      line
        .replace(/^(signature-input: )/, '$1proxy=("@method");tag="x" , ')
        .replace(/^(signature: )/, '$1proxy=:AAAA: , '),
    )
    assert.equal(await sendLines(url, [...head, 'Host: shop.example', ...joined], 'one'), 200)
  })

  test(`${framework}: repeated headers are refused`, async (t) => {
    const { url, bot } = await start(t, framework)
    // Dictionaries may have further members, which are not ours.
    const dictionaries = ['signature', 'signature-input', 'signature-agent', 'content-digest']
    const singletons = ['content-type', 'authorization', 'host', 'serviceid']
    for (const name of [...dictionaries, ...singletons]) {
      const headers = { authorization: 'Bearer t', 'content-type': 'text/plain' }
      const request = await bot.sign(`${SHOP}/a`, { method: 'POST', headers })
      const lines = [
        'POST /a HTTP/1.1',
        'Host: shop.example',
        'Content-Length: 0',
        ...fieldsOf(request),
      ]
      const line = lines.find((each) => each.toLowerCase().startsWith(`${name}:`)) ?? `${name}: x`
      for (const again of dictionaries.includes(name) ? [line] : [line, `${name}: other`]) {
        const status = await sendLines(url, [...lines, again])
        assert.ok([400, 401].includes(status), `${again}: ${status}`)
      }
    }
  })

  test(`${framework}: a store that is full evicts nothing, and no signer takes more than its share`, async (t) => {
    const bots = Array.from({ length: 17 }, () => botSigner())
    const { fetch: fetchDirectory } = await startDirectory(
      t,
      bots.map(({ jwk }) => jwk),
    )
    // Of 16 nonces, one for each signer.
    const options = { policy: BOTS_ALLOWED, fetchDirectory, nonces: olderNonceStore(16) }
    const { url, reason, last } = await startBotSite(t, options, framework)
    const used = []
    for (const bot of bots.slice(0, 16)) {
      const request = await bot.sign(SHOP)
      assert.equal((await send(url, request)).status, 200)
      used.push(request)
    }
    const again = await send(url, await (bots[0] as Signer).sign(SHOP))
    assert.deepEqual([again.status, again.headers['retry-after']], [429, '1'])
    assert.equal(reason(), 'too-many-requests')
    const late = bots[16] as Signer
    assert.equal((await send(url, await late.sign(SHOP))).status, 200)
    assert.equal(last().signature?.replay, 'unchecked')
    const post = await send(url, await late.sign(SHOP, { method: 'POST' }))
    assert.deepEqual([post.status, post.headers['retry-after']], [503, '1'])
    for (const request of used) assert.equal((await send(url, request)).status, 401)
    assert.equal(reason(), 'replay')
  })
}

test('targets that no client sends are answered with 400 where they reach the gateway as they are', async (t) => {
  for (const framework of ['Express', 'Fastify']) {
    const { url, bot, reason } = await start(t, framework)
    for (const target of [
      '/x/../a',
      '/%2e%2e/a',
      '/x/%2E./a',
      '/./a',
      '/\\a',
      '/a\\..\\b',
      '/a#b',
    ]) {
      const request = await bot.sign(`${SHOP}/a`)
      const lines = [`GET ${target} HTTP/1.1`, 'Host: shop.example', ...fieldsOf(request)]
      assert.equal(await sendLines(url, lines), 400, `${framework} ${target}`)
      assert.equal(reason(), 'bad-path', target)
    }
    const request = await bot.sign(`${SHOP}/a`)
    const absolute = (target: string) => [
      `GET ${target} HTTP/1.1`,
      'Host: shop.example',
      ...fieldsOf(request),
    ]
    if (framework === 'Express')
      assert.equal(await sendLines(url, absolute('https://evil.example/a')), 400)
    assert.equal(await sendLines(url, absolute('/a')), 200)
  }
})

test('a store that never answers is not waited for', async (t) => {
  const nonces = { record: () => new Promise<never>(() => {}) }
  const { url, bot, last } = await start(t, 'Express', { nonces })
  const [get, post] = await Promise.all([
    send(url, await bot.sign(SHOP)),
    send(url, await bot.sign(SHOP, { method: 'POST' })),
  ])
  assert.deepEqual([get.status, post.status, post.headers['retry-after']], [200, 503, '5'])
  assert.equal(last().signature?.replay, 'unchecked')
})

test('HTTP/2: the authority, bodies without a length, and replays', async (t) => {
  const bot = botSigner()
  const { fetch: fetchDirectory } = await startDirectory(t, [bot.jwk])
  const decisions: Decision[] = []
  const app = fastify({ http2: true })
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.register(
    forFastify({
      service: NO_SERVICE,
      audiences: [SHOP],
      tlsTerminated: true,
      nonces: olderNonceStore(),
      policy: BOTS_ALLOWED,
      fetchDirectory,
      onDecision: (decision) => decisions.push(decision),
    }),
  )
  app.all('/*', async () => 'in')
  await app.listen({ port: 0, host: '127.0.0.1' })
  const client = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  t.after(async () => {
    client.destroy()
    await app.close()
  })
  const visit = async (request: Request, changes: Record<string, string> = {}, body?: string) => {
    const sent = {
      ':method': request.method,
      ':path': new URL(request.url).pathname,
      ':authority': 'shop.example',
      ...Object.fromEntries(request.headers),
      ...changes,
    }
    const stream = client.request(sent, { endStream: body === undefined })
    const status = new Promise<number>((resolve, reject) => {
      stream.once('response', (headers) => resolve(Number(headers[':status'])))
      stream.once('error', reject)
    })
    if (body !== undefined) stream.end(body)
    const answered = await status
    await buffer(stream)
    return [answered, decisions.at(-1)?.signature?.reason]
  }
  const get = await bot.sign(`${SHOP}/a`)
  assert.deepEqual(await visit(get), [200, null])
  assert.deepEqual(await visit(get), [401, 'replay'])
  const sign = () => bot.sign(`${SHOP}/a`)
  assert.deepEqual(await visit(await sign(), {}, 'added'), [401, 'components'])
  assert.deepEqual(await visit(await sign(), { ':authority': 'evil.example' }), [401, 'authority'])
  assert.deepEqual(await visit(await sign(), { host: 'evil.example' }), [400, 'bad-host'])
  assert.deepEqual(await visit(await sign(), { ':path': '/b' }), [401, 'bad-signature'])
  assert.deepEqual(await visit(await sign(), { ':path': '/x/../a' }), [400, 'bad-path'])
  const post = await bot.sign(`${SHOP}/a`, { method: 'POST', body: 'one' })
  assert.deepEqual(await visit(post, {}, 'one'), [200, null])
})
