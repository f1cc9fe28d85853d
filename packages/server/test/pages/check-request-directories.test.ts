import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOT_SIGNERS, KEY_SET } from '../../../../test/support/bot-signers.ts'
import { startDnsServer } from '../../../../test/support/dns-server.ts'
import { outsideEnv, startHttpsSite } from '../../../../test/support/https-site.ts'
import { newKey } from '../../../../test/support/key.ts'
import { startTestService, type TestService } from '../../../../test/support/service.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import { startCanary } from '../http/outbound/test-perspective.ts'
import {
  check,
  checkText,
  outcomesOf,
  rawRequest,
  stopOf,
  URL_OF_ORDERS as url,
  verdictOf,
} from './support/check-request.ts'

const DIRECTORY = '/.well-known/http-message-signatures-directory'

interface Options {
  readonly env?: Readonly<Record<string, string>>
}

async function startWorld(t: { after(end: () => unknown): void }, { env = {} }: Options = {}) {
  const dns = await startDnsServer(t)
  const site = await startHttpsSite(t, ['bots.example'])
  site.serve(DIRECTORY, { body: KEY_SET })
  const service = await startTestService(t, { ...outsideEnv([dns], [site]), ...env })
  return { dns, site, service }
}

/** A request by a bot, as it is pasted. */
async function botRequest(bot: (typeof BOT_SIGNERS)[number], lifetimeSeconds = 3600) {
  const signed = await bot.sign(new Request(url), { createdAt: Date.now(), lifetimeSeconds })
  return rawRequest([['Host', 'shop.example'], ...signed.headers])
}

/** A request whose signature names a key set at this address. */
async function requestNaming(
  service: TestService,
  keySet: string,
  dialect: 'ietf' | 'cimd' = 'ietf',
): Promise<string> {
  const did = `svc:agent:${'2'.repeat(24)}`
  const signatureAgent = { dialect, url: keySet }
  return rawRequest(await signedHeaders(service, did, newKey(), { url, signatureAgent }))
}

test('signers that this service has not certified are verified by their key directory, read once', async (t) => {
  const { site, service } = await startWorld(t)
  const requests = await Promise.all(BOT_SIGNERS.map((bot) => botRequest(bot)))
  const pages = await Promise.all(requests.map((each) => check(service, each)))
  for (const [i, html] of pages.entries()) {
    const { name, hasNonce } = BOT_SIGNERS[i] as (typeof BOT_SIGNERS)[number]
    assert.match(verdictOf(html), /^Verified The holder of the key signed this request/, name)
    assert.match(checkText(html, 'key'), /bots\.example\/\.well-known\/\S+ has the key/)
    assert.equal(outcomesOf(html).status, 'unchecked')
    assert.match(checkText(html, 'nonce'), hasNonce ? /right form/ : /no nonce/)
  }
  assert.deepEqual(
    site.requests.map((each) => each.url),
    [DIRECTORY],
  )
  // What a signature does not cover, nobody notices.
  const [minimal = ''] = requests
  assert.match(verdictOf(await check(service, minimal, { break: 'path' })), /^Still verified/)
  const post = minimal.replace('GET', 'POST')
  assert.equal(stopOf(await check(service, post)), 'components failed')
  const dayAndMore = await botRequest(BOT_SIGNERS[0] as (typeof BOT_SIGNERS)[number], 90_000)
  assert.equal(stopOf(await check(service, dayAndMore)), 'times failed')
})

test('a directory without the key, or without keys, says so', async (t) => {
  const { site, service } = await startWorld(t)
  site.serve('/other.json', { body: KEY_SET })
  site.serve('/text', { body: 'nonsense' })
  const client = 'https://bots.example/client'
  site.serve('/client', {
    body: JSON.stringify({ client_id: client, jwks_uri: 'https://bots.example/other.json' }),
  })
  const named = async (path: string) =>
    check(service, await requestNaming(service, `https://bots.example${path}`))
  assert.match(verdictOf(await named('/other.json')), /has no key with this keyid. It has 1 other/)
  const document = await requestNaming(service, client, 'cimd')
  assert.match(verdictOf(await check(service, document)), /client has no key with this keyid/)
  assert.deepEqual(
    site.requests.map((each) => each.url),
    ['/other.json', '/client', '/other.json'],
  )
  const other = await requestNaming(service, 'https://bots.example/other.json', 'cimd')
  assert.match(verdictOf(await check(service, other)), /no Client ID Metadata Document/)
  assert.match(verdictOf(await named('/text')), /is no JSON Web Key Set/)
  assert.match(verdictOf(await named('/nothing')), /answers with status 404/)
  const read = site.requests.length
  assert.equal(stopOf(await named('/nothing')), 'key undecided')
  assert.equal(site.requests.length, read, 'it is left alone after a failure')
})

test('addresses inside the network are refused, and redirects are not followed', async (t) => {
  const canary = await startCanary(t)
  const { dns, site, service } = await startWorld(t)
  dns.set('inside.example', 'A', ['10.0.0.1'])
  dns.set('mapped.example', 'AAAA', ['::ffff:169.254.169.254'])
  dns.set('mixed.example', 'A', ['93.184.215.14', '127.0.0.1'])
  site.serve('/away', { status: 302, headers: { location: `http://127.0.0.1:${canary.port}/` } })
  const cases: [string, RegExp][] = [
    ['https://inside.example/keys.json', /not a public address/],
    ['https://mapped.example/keys.json', /not a public address/],
    ['https://mixed.example/keys.json', /not a public address/],
    [`https://localhost:${canary.port}/`, /must use port 443/],
    ['https://localhost/keys.json', /not the name of a host/],
    ['https://127.0.0.1/keys.json', /not the name of a host/],
    ['https://[::1]/keys.json', /not the name of a host/],
    ['https://metadata/keys.json', /not the name of a host/],
    ['https://bots.example:8443/keys.json', /must use port 443/],
    ['https://bots.example/away', /answers with status 302/],
    ['https://nobody.example/keys.json', /nobody\.example/],
  ]
  for (const [keySet, words] of cases) {
    const html = await check(service, await requestNaming(service, keySet))
    assert.match(verdictOf(html), words, keySet)
    assert.equal(stopOf(html), 'key undecided')
  }
  assert.equal(canary.connections, 0)
  assert.deepEqual(
    site.requests.map((each) => each.url),
    ['/away'],
  )
})

test('reads are limited by visitor, and by host for all visitors; what is known costs nothing', async (t) => {
  const { site, service } = await startWorld(t, { env: { RATE_LIMITS: 'directories=2/h' } })
  const named = async (path: string) =>
    check(service, await requestNaming(service, `https://bots.example${path}`))
  for (const path of [DIRECTORY, '/1']) assert.equal(stopOf(await named(path)), 'key undecided')
  assert.match(verdictOf(await named('/2')), /Too many directories were read from your address/)
  assert.match(verdictOf(await named(DIRECTORY)), /has no key with this keyid/)
  assert.equal(site.requests.length, 2)

  const other = await startWorld(t)
  for (let i = 0; i < 10; i++) {
    const html = await check(
      other.service,
      await requestNaming(other.service, `https://bots.example/${i}`),
    )
    assert.match(verdictOf(html), /status 404/)
  }
  const last = await requestNaming(other.service, 'https://bots.example/10')
  assert.match(verdictOf(await check(other.service, last)), /bots\.example was read too often/)
  assert.equal(other.site.requests.length, 10)
})
