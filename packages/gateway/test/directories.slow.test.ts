import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { Gate } from '../src/gate.ts'
import type { PolicyInput } from '../src/policy/policy.ts'
import {
  BOTS,
  BOTS_ALLOWED,
  botSigner,
  NO_SERVICE,
  startBotSite,
  startDirectory,
} from './support/directory-site.ts'
import { FRAMEWORKS, type Seen } from './support/frameworks.ts'
import { currentParams, foreignSigner, olderNonceStore, SHOP, send } from './support/signing.ts'

const WELL_KNOWN = '/.well-known/http-message-signatures-directory'
const WBA: PolicyInput = { ...BOTS_ALLOWED, directories: [{ url: BOTS, profile: 'wba' }] }
/** What most bots sign. */
const MINIMAL = '"@authority" "signature-agent";key="sig1"'
const SESSIONS = { session: async () => ({ did: `svc:agent:${'2'.repeat(24)}` }) }

for (const framework of Object.keys(FRAMEWORKS)) {
  test(`${framework}: a signer of a listed directory has its level, and nothing that looks like a verified agent`, async (t) => {
    const bot = botSigner()
    const { fetch: fetchDirectory, asked } = await startDirectory(t, [bot.jwk])
    const { url, last } = await startBotSite(t, { policy: BOTS_ALLOWED, fetchDirectory }, framework)
    const request = await bot.sign(`${SHOP}/orders`, { method: 'POST', body: 'one item' })
    const names = ['DID', 'Status', 'Identity-Level', 'Verified', 'Proof', 'Directory']
    const forged = names.map((name) => [`X-ServiceID-${name}`, 'forged'])
    const answer = await send(url, request, { headers: Object.fromEntries(forged) })
    assert.equal(answer.status, 200, answer.text)
    const { agent, fields } = JSON.parse(answer.text) as Seen
    const told = fields.map(([name, value]) => [name.toLowerCase(), value])
    assert.deepEqual(
      Object.fromEntries(told.filter(([name]) => name?.startsWith('x-serviceid-'))),
      {
        'x-serviceid-decision': 'allow',
        'x-serviceid-verified': 'false',
        'x-serviceid-proof': 'none',
        'x-serviceid-directory': BOTS,
        'x-serviceid-content-digest': request.headers.get('content-digest'),
      },
    )
    assert.deepEqual(
      [agent.level, agent.did, agent.verified, agent.proof, agent.directory],
      ['directory', null, false, 'none', BOTS],
    )
    assert.deepEqual(
      [agent.signature?.keyid, agent.signature?.signatureAgent, agent.signature?.profile],
      [bot.keyid, BOTS, 'strict'],
    )
    assert.deepEqual(asked, [WELL_KNOWN])
    assert.equal((await send(url, request)).status, 401)
    assert.equal(last().signature?.reason, 'replay')
  })
}

test('signers are refused unless the policy says otherwise, with their nonce unused', async (t) => {
  const bot = botSigner()
  const { fetch: fetchDirectory } = await startDirectory(t, [bot.jwk])
  const nonces = olderNonceStore()
  const policy = { directories: [{ url: BOTS }], levels: { none: 'allow' } } as const
  const closed = await startBotSite(t, { policy, fetchDirectory, nonces })
  const request = await bot.sign(SHOP)
  const answer = await send(closed.url, request)
  assert.equal(answer.status, 403)
  assert.deepEqual(JSON.parse(answer.text).error.reasons, ['directory-signed'])
  const open = await startBotSite(t, { policy: BOTS_ALLOWED, fetchDirectory, nonces })
  assert.equal((await send(open.url, request)).status, 200)
})

test('what is not listed is never fetched: other hosts, other paths, private addresses, agents of the service', async (t) => {
  const bot = botSigner()
  const { fetch: fetchDirectory, asked } = await startDirectory(t, [bot.jwk])
  const issuer = 'https://id.example'
  const policy = {
    ...BOTS_ALLOWED,
    directories: [{ url: BOTS }, { url: `${issuer}/agent/${'2'.repeat(24)}/jwks.json` }],
  }
  const { url, last, reason } = await startBotSite(t, { policy, issuer, fetchDirectory })
  for (const address of [
    'https://other.example',
    `${BOTS}.evil.example`,
    'https://10.0.0.1',
    'https://127.0.0.1',
    'https://[::1]',
    'http://localhost:1',
  ]) {
    assert.equal((await send(url, await botSigner(address).sign(SHOP))).status, 401, address)
    assert.equal(reason(), 'untrusted-agent', address)
  }
  const elsewhere = foreignSigner({ dialect: 'ietf', url: `${BOTS}/keys.json` })
  await send(url, await elsewhere.sign(SHOP))
  assert.equal(reason(), 'untrusted-agent')
  const ours = `${issuer}/agent/${'2'.repeat(24)}/jwks.json`
  await send(url, await foreignSigner({ dialect: 'ietf', url: ours }).sign(SHOP))
  assert.deepEqual([reason(), last().directory], ['directory-unavailable', null])
  assert.deepEqual(asked, [])
})

test('every dialect names the same key set', async (t) => {
  const bots = [
    botSigner(),
    foreignSigner({ dialect: 'legacy', url: BOTS }),
    foreignSigner({ dialect: 'ietf', url: BOTS + WELL_KNOWN }),
    foreignSigner({ dialect: 'ucp', url: BOTS + WELL_KNOWN }),
  ]
  const { fetch: fetchDirectory, asked } = await startDirectory(
    t,
    bots.map(({ jwk }) => jwk),
  )
  const { url, last } = await startBotSite(t, { policy: BOTS_ALLOWED, fetchDirectory })
  for (const bot of bots) {
    assert.equal((await send(url, await bot.sign(SHOP))).status, 200)
    assert.equal(last().directory, BOTS)
  }
  assert.equal(asked.length, 1)
})

test('wba: a signature of the host alone counts for safe methods, of directories that are listed so', async (t) => {
  const bot = botSigner()
  const { fetch: fetchDirectory } = await startDirectory(t, [bot.jwk])
  const { url, last, reason } = await startBotSite(t, { policy: WBA, fetchDirectory })
  const minimal = (init?: RequestInit) =>
    bot.signParts(new Request(`${SHOP}/a`, init), MINIMAL, currentParams())
  assert.equal((await send(url, await minimal())).status, 200)
  assert.deepEqual([last().signature?.profile, last().proof], ['wba', 'none'])
  const target = '"@target-uri" "signature-agent";key="sig1"'
  const byTarget = await bot.signParts(new Request(`${SHOP}/a`), target, currentParams())
  assert.equal((await send(url, byTarget)).status, 200)
  for (const method of ['POST', 'PUT', 'DELETE']) {
    assert.equal((await send(url, await minimal({ method }))).status, 401, method)
    assert.equal(reason(), 'components', method)
  }
  const unhosted = '"@method" "@path" "signature-agent";key="sig1"'
  const anywhere = await bot.signParts(new Request(`${SHOP}/a`), unhosted, currentParams())
  assert.equal((await send(url, anywhere)).status, 401)
  // Everything of the profile strict counts for every method.
  assert.equal((await send(url, await bot.sign(SHOP, { method: 'POST' }))).status, 200)
  const strict = await startBotSite(t, { policy: BOTS_ALLOWED, fetchDirectory })
  assert.equal((await send(strict.url, await minimal())).status, 401)
  assert.equal(strict.reason(), 'components')
})

test('a signer cannot pass as an agent: by the header, by a session, or where proof of an agent is needed', async (t) => {
  const bot = botSigner()
  const { fetch: fetchDirectory } = await startDirectory(t, [bot.jwk])
  const { url, last, reason } = await startBotSite(t, {
    policy: WBA,
    fetchDirectory,
    sessions: SESSIONS,
  })
  const did = `svc:agent:${'2'.repeat(24)}`
  const named = await bot.sign(SHOP, { headers: { ServiceID: did } })
  assert.equal((await send(url, named)).status, 401)
  assert.deepEqual([reason(), last().did], ['identification-mismatch', null])
  const withHeader = new Request(SHOP, { headers: { ServiceID: did } })
  await send(url, await bot.signParts(withHeader, MINIMAL, currentParams()))
  assert.equal(reason(), 'identification-mismatch')
  const session = await bot.sign(SHOP, { headers: { authorization: 'Bearer t' } })
  assert.equal((await send(url, session)).status, 401)
  assert.deepEqual(
    [last().reasons[0].code, last().proof, last().did, last().directory],
    ['identification-conflict', 'none', null, null],
  )
})

test('the rate limit is that of the directory, whatever key signs', async (t) => {
  const bots = [botSigner(), botSigner()] as const
  const { fetch: fetchDirectory } = await startDirectory(t, [bots[0].jwk, bots[1].jwk])
  const policy = {
    ...BOTS_ALLOWED,
    levels: { directory: 'limit' },
    limit: { requests: 2, seconds: 3600 },
  } as const
  const { url } = await startBotSite(t, { policy, fetchDirectory })
  const statuses = []
  for (const bot of [bots[0], bots[1], bots[0]])
    statuses.push((await send(url, await bot.sign(SHOP))).status)
  assert.deepEqual(statuses, [200, 200, 429])
})

const BAD_ANSWERS: Readonly<Record<string, RequestListener>> = {
  'status 500': (_, response) => response.writeHead(500).end('{"keys":[]}'),
  'status 404': (_, response) => response.writeHead(404).end('{"keys":[]}'),
  'a redirect': (_, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
  'more than 64 KiB': (_, response) => response.end(`{"keys":[]${' '.repeat(65_536)}}`),
  'no JSON': (_, response) => response.end('<!doctype html>'),
  'no key set': (_, response) => response.end('{"keys":{}}'),
  'more than 64 keys': (_, response) => response.end(JSON.stringify({ keys: Array(65).fill({}) })),
  'a broken connection': (request) => request.socket.destroy(),
}

for (const [name, listener] of Object.entries(BAD_ANSWERS)) {
  test(`a directory that answers with ${name} removes no key, and is left alone for 30 seconds`, async (t) => {
    const bot = botSigner()
    const directory = await startDirectory(t, [bot.jwk], listener)
    const clock = { now: 0 }
    const now = () => clock.now
    const { url, reason } = await startBotSite(t, {
      policy: BOTS_ALLOWED,
      fetchDirectory: directory.fetch,
      now,
    })
    const visit = async (signer = bot) => (await send(url, await signer.sign(SHOP))).status
    assert.deepEqual([await visit(), await visit(botSigner())], [503, 503])
    assert.equal(reason(), 'directory-unavailable')
    assert.equal(directory.asked.length, 1)
    directory.listener = undefined
    clock.now += 29_999
    assert.equal(await visit(), 503)
    clock.now += 1
    assert.equal(await visit(), 200)
    directory.listener = listener
    clock.now += 3_600_000
    assert.equal(await visit(), 200)
    assert.equal(directory.asked.length, 3)
    assert.equal(await visit(botSigner()), 503)
  })
}

test('an empty key set removes the keys; keys are read again after a minute, and for an unknown one every 30 seconds', async (t) => {
  const [bot, other] = [botSigner(), botSigner()]
  const directory = await startDirectory(t, [bot.jwk, { kty: 'RSA', n: 'x' }, null])
  const clock = { now: 0 }
  const now = () => clock.now
  const { url, reason } = await startBotSite(t, {
    policy: BOTS_ALLOWED,
    fetchDirectory: directory.fetch,
    now,
  })
  const visit = async (signer = bot) => (await send(url, await signer.sign(SHOP))).status
  const many = await Promise.all(Array.from({ length: 20 }, () => visit()))
  assert.deepEqual(many, Array(20).fill(200))
  assert.deepEqual([await visit(other), reason()], [401, 'unknown-key'])
  assert.equal(directory.asked.length, 1)
  directory.keys = [bot.jwk, other.jwk]
  clock.now = 30_000
  assert.deepEqual([await visit(other), await visit()], [200, 200])
  assert.equal(directory.asked.length, 2)
  directory.keys = []
  clock.now = 89_999
  assert.equal(await visit(), 200)
  clock.now = 90_000
  assert.deepEqual([await visit(), reason()], [401, 'unknown-key'])
})

test('a directory that never answers is not waited for', async (t) => {
  const bot = botSigner()
  const directory = await startDirectory(t, [], () => undefined)
  // Ignores its signal.
  const deaf: typeof fetch = (input) => directory.fetch(input)
  const visits = [directory.fetch, deaf].map(async (fetchDirectory) => {
    const { url, reason } = await startBotSite(t, { policy: BOTS_ALLOWED, fetchDirectory })
    const two = [await bot.sign(SHOP), await bot.sign(SHOP)]
    const answers = await Promise.all(two.map((each) => send(url, each)))
    return [...answers.map(({ status }) => status), reason()]
  })
  const expected = [503, 503, 'directory-unavailable']
  assert.deepEqual(await Promise.all(visits), [expected, expected])
  assert.equal(directory.asked.length, 2)
})

test('a key that is published in a standard proves nothing, though a directory has it', async (t) => {
  // RFC 9421 appendix B.1.4.
  const privateKey = createPrivateKey(`-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----`)
  const bot = foreignSigner(
    { dialect: 'origin', url: BOTS },
    { privateKey, publicKey: createPublicKey(privateKey) },
  )
  const { fetch: fetchDirectory } = await startDirectory(t, [bot.jwk])
  const { url, reason } = await startBotSite(t, { policy: WBA, fetchDirectory })
  assert.equal((await send(url, await bot.sign(SHOP))).status, 401)
  assert.equal(reason(), 'test-key')
})

test('a policy lists https addresses at host names of the internet, and needs audiences', () => {
  const mistakesOf = (directories: unknown, audiences: readonly string[] = [SHOP]) => {
    try {
      new Gate({ service: NO_SERVICE, audiences, policy: { directories } as PolicyInput })
      return []
    } catch (error) {
      return (error as { mistakes: string[] }).mistakes
    }
  }
  for (const url of [BOTS, `${BOTS}/`, `${BOTS}/keys.json?a=b`]) {
    assert.deepEqual(mistakesOf([{ url, profile: 'wba' }]), [], url)
  }
  for (const url of [
    'http://bots.example',
    'https://bots.example:8443',
    'https://a:b@bots.example',
    'https://bots.example/#keys',
    'https://10.0.0.1',
    'https://0x7f.1',
    'https://[::1]/',
    'https://localhost',
    'bots.example',
    7,
  ]) {
    assert.match(mistakesOf([{ url }]).join(), /directories\[0\]\.url must be an https address/)
  }
  assert.match(
    mistakesOf([{ url: BOTS, profile: 'all' }]).join(),
    /profile must be `strict` or `wba`/,
  )
  assert.match(mistakesOf({ url: BOTS }).join(), /directories must be a list/)
  assert.match(mistakesOf([{ url: BOTS }], []).join(), /policy\.directories requires `audiences`/)
})
