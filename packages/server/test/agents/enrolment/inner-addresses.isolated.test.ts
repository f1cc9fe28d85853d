import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { startDnsServer } from '../../../../../test/support/dns-server.ts'
import { outsideEnv, startHttpsSite } from '../../../../../test/support/https-site.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { newPlatform, ruleFor } from '../../../../../test/support/platform.ts'
import { startTestService, type TestService } from '../../../../../test/support/service.ts'
import { assertUnavailable, didIn, enrolBy, newOwner, newRule, RULES } from './with-rules.ts'

const HOST = 'issuer.example.com'
const ISSUER = `https://${HOST}`
const DISCOVERY = '/.well-known/openid-configuration'
const HOUR_MS = 3_600_000
/** Names and the addresses inside to which they resolve. */
const INNER = {
  'loopback.example.com': '127.0.0.1',
  'metadata.example.com': '169.254.169.254',
  'private.example.com': '10.0.0.1',
  'carrier.example.com': '100.64.0.1',
} as const

/** The addresses to which this process tries to connect, but those of a service and its database. */
function watchConnections(t: TestContext, { settings, env }: TestService): Set<string> {
  const own = [settings.port, Number(URL.parse(env.DATABASE_URL ?? '')?.port)]
  const seen = new Set<string>()
  const watch = (message: unknown) => {
    const { socket } = message as { socket: Socket }
    socket.on('connectionAttempt', (address, port) => {
      if (!own.includes(port)) seen.add(`${address}:${port}`)
    })
  }
  subscribe('net.client.socket', watch)
  t.after(() => unsubscribe('net.client.socket', watch))
  return seen
}

test('a rule whose keys are inside is refused, and nothing inside is connected to', async (t) => {
  const dns = await startDnsServer(t)
  for (const [name, address] of Object.entries(INNER)) dns.set(name, 'A', [address])
  dns.set('six.example.com', 'AAAA', ['::ffff:10.0.0.1'])
  dns.set('both.example.com', 'A', ['1.1.1.1', '10.0.0.1'])
  const env = { BASE_URL: 'https://certificates.example', ...outsideEnv([dns]) }
  const service = await startTestService(t, env)
  const owner = await newOwner(service)
  const seen = watchConnections(t, service)
  const names = [...Object.keys(INNER), 'six.example.com', 'both.example.com']
  for (const name of names) {
    const platform = newPlatform(`https://${name}`)
    for (const keys of [{ discovery: true }, { jwksUri: `https://${name}/keys` }]) {
      const answer = await owner.post(RULES, ruleFor(platform, { keys }))
      assertRefused(answer, 400, 'VALIDATION_ERROR', /public address/)
    }
  }
  assert.deepEqual([...seen], [])
})

test('an issuer that turns inside after its rule was created is not followed there', async (t) => {
  let elapsed = 1_000_000
  const dns = await startDnsServer(t)
  const site = await startHttpsSite(t, [HOST])
  const env = outsideEnv([dns], [site])
  const service = await startTestService(t, env, Date.now, () => elapsed)
  const owner = await newOwner(service)
  const platform = newPlatform(ISSUER)
  const json = { 'content-type': 'application/json' }
  const serve = (path: string, body: object) =>
    site.serve(path, { headers: json, body: JSON.stringify(body) })
  const serveKeysAt = (uri: string) => serve(DISCOVERY, { issuer: ISSUER, jwks_uri: uri })
  serve('/keys', platform.jwks)
  serveKeysAt(`${ISSUER}/keys`)
  const discovered = ruleFor(platform, { keys: { discovery: true } })
  const rule = await newRule(owner, discovered)
  const key = newKey()
  const did = didIn(await enrolBy(service, platform, rule, key))
  const seen = watchConnections(t, service)
  dns.set('private.example.com', 'A', ['10.0.0.1'])
  const toInside = ['https://private.example.com/keys', 'https://169.254.169.254/latest']
  const turned: Record<string, () => void> = {
    redirect: () => site.serve('/keys', { status: 302, headers: { location: toInside[1] ?? '' } }),
    'redirect of discovery': () =>
      site.serve(DISCOVERY, { status: 307, headers: { location: toInside[0] ?? '' } }),
    'jwks_uri that resolves to an inner address': () => serveKeysAt(toInside[0] ?? ''),
    'jwks_uri with an address': () => serveKeysAt(toInside[1] ?? ''),
    'jwks_uri of a file': () => serveKeysAt('file:///etc/passwd'),
    'more than 64 KiB': () => serve('/keys', { ...platform.jwks, more: 'x'.repeat(65 * 1024) }),
    'no JSON': () => site.serve('/keys', { headers: json, body: '{' }),
    'another address': () => dns.set(HOST, 'A', ['10.0.0.1']),
  }
  for (const [name, turn] of Object.entries(turned)) {
    serve('/keys', platform.jwks)
    serveKeysAt(`${ISSUER}/keys`)
    turn()
    const created = await owner.post(RULES, discovered)
    assert.equal(created.status, 400, `${name}: ${created.text}`)
    // Keys are used for an hour if they cannot be read again.
    elapsed += HOUR_MS
    assertUnavailable(await enrolBy(service, platform, rule, key))
  }
  assert.deepEqual([...seen], [`127.0.0.1:${site.port}`])
  dns.set(HOST, 'A', ['127.0.0.1'])
  serveKeysAt(`${ISSUER}/keys`)
  serve('/keys', platform.jwks)
  elapsed += HOUR_MS
  assert.equal(didIn(await enrolBy(service, platform, rule, key), 200), did)
})
