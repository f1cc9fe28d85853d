import assert from 'node:assert/strict'
import { promises as dns } from 'node:dns'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import tls from 'node:tls'
import { type CertifiedKey, createAuthority } from '../../../../test/support/certificates.ts'
import { Agent } from '../../src/agent.ts'
import { newKey } from '../../src/keys/keys.ts'
import { Registry } from '../../src/registry.ts'
import { keyDirectories, type TrustedDirectory } from '../../src/relying-party/key-directories.ts'
import { verifyRequest } from '../../src/relying-party/verify-request.ts'
import { failsWith } from '../support/fails.ts'
import { olderNonceStore } from '../support/signed-site.ts'

const SHOP = 'https://shop.example'
const BOTS = 'https://bots.example'
/** TEST-NET-like addresses would be refused. Nothing is sent to this one: `tls.connect` is replaced. */
const PUBLIC = '8.8.8.8'
const DID = `svc:agent:${'2'.repeat(24)}`
const KEY_SET = `${BOTS}/agent/${'2'.repeat(24)}/jwks.json`

/** Signs as an agent of a service that this site does not trust: to us, a signer of another directory. */
async function foreignSigner() {
  const key = await newKey()
  const registry = new Registry(BOTS, { naming: { idHeader: 'BotID' } })
  const agent = new Agent({ registry, signer: key, did: DID, audiences: [SHOP] })
  const { d: _, ...jwk } = key.jwk
  return { agent, jwk }
}

async function serverFor(t: TestContext, certified: CertifiedKey, listener: RequestListener) {
  const server = createServer({ ...certified }, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Replaces what resolves and connects, so that a public address leads to a server of the test. */
function mockNetwork(t: TestContext, addresses: readonly string[], port: number, ca: string) {
  const connected: tls.ConnectionOptions[] = []
  const { connect } = tls
  const lookup = t.mock.method(dns, 'lookup', (async () =>
    addresses.map((address) => ({ address, family: 4 }))) as never)
  t.mock.method(tls, 'connect', ((options: tls.ConnectionOptions) => {
    connected.push(options)
    return connect({ ...options, host: '127.0.0.1', port, ca })
  }) as never)
  return { connected, lookup: lookup.mock }
}

const verifierFor = (
  directory: TrustedDirectory = { url: KEY_SET },
  fetch?: typeof globalThis.fetch,
) => {
  const options = {
    registry: new Registry('https://id.example'),
    audiences: [SHOP],
    nonces: olderNonceStore(),
    directories: keyDirectories([directory], { fetch }),
  }
  return (request: Request) => verifyRequest(request, options)
}

test('a key of a listed directory is verified, without a DID, over one connection to the address that was checked', async (t) => {
  const { agent, jwk } = await foreignSigner()
  const authority = await createAuthority('directories')
  const asked: unknown[] = []
  const port = await serverFor(
    t,
    await authority.certify(['bots.example']),
    (request, response) => {
      asked.push([
        request.method,
        request.url,
        request.headers.host,
        request.headers['accept-encoding'],
      ])
      response.end(JSON.stringify({ keys: [jwk] }))
    },
  )
  const network = mockNetwork(t, [PUBLIC], port, authority.certificate)
  const verify = verifierFor()
  const result = await verify(await agent.sign(`${SHOP}/a`, { method: 'POST', body: 'x' }))
  assert.deepEqual(
    [result.verdict, result.reason, result.did, result.signatureAgent?.url, result.digest],
    ['verified', null, null, KEY_SET, 'checked'],
  )
  assert.equal((await verify(await agent.sign(SHOP))).verdict, 'verified')
  assert.deepEqual(asked, [['GET', new URL(KEY_SET).pathname, 'bots.example', 'identity']])
  assert.equal(network.lookup.callCount(), 1)
  const [{ host, servername, port: at, rejectUnauthorized } = {}] = network.connected
  assert.deepEqual([host, servername, at, rejectUnauthorized], [PUBLIC, 'bots.example', 443, true])
})

test('a name with an address that is not public is not connected to', async (t) => {
  const { agent } = await foreignSigner()
  for (const addresses of [
    ['127.0.0.1'],
    [PUBLIC, '10.0.0.1'],
    ['::ffff:8.8.8.8'],
    ['fd00::1'],
    [],
  ]) {
    const network = mockNetwork(t, addresses, 1, '')
    const result = await verifierFor()(await agent.sign(SHOP))
    assert.deepEqual([result.verdict, result.reason], ['unverified', 'directory-unavailable'])
    assert.equal(network.connected.length, 0, addresses.join())
    t.mock.restoreAll()
  }
})

test('a server with a certificate for another name is not asked, whatever the environment allows', async (t) => {
  const { agent, jwk } = await foreignSigner()
  const authority = await createAuthority('directories')
  let asked = 0
  const port = await serverFor(t, await authority.certify(['evil.example']), (_, response) => {
    asked += 1
    response.end(JSON.stringify({ keys: [jwk] }))
  })
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
  mockNetwork(t, [PUBLIC], port, authority.certificate)
  const result = await verifierFor()(await agent.sign(SHOP))
  assert.deepEqual([result.reason, asked], ['directory-unavailable', 0])
})

test('redirects are not followed, and large answers are not read to their end', async (t) => {
  const { agent } = await foreignSigner()
  const authority = await createAuthority('directories')
  const certified = await authority.certify(['bots.example'])
  const listeners: RequestListener[] = [
    (_, response) => response.writeHead(307, { location: `${BOTS}/elsewhere` }).end(),
    (_, response) => {
      // Without an end.
      const more = () => response.write(' '.repeat(16_384), () => response.destroyed || more())
      more()
    },
  ]
  for (const listener of listeners) {
    let asked = 0
    const port = await serverFor(t, certified, (request, response) => {
      asked += 1
      listener(request, response)
    })
    mockNetwork(t, [PUBLIC], port, authority.certificate)
    const result = await verifierFor()(await agent.sign(SHOP))
    assert.deepEqual([result.reason, asked], ['directory-unavailable', 1])
    t.mock.restoreAll()
  }
})

test('a key that is not valid yet or any more is unknown, with times in seconds or milliseconds', async () => {
  const { agent, jwk } = await foreignSigner()
  const verdictFor = async (times: object) => {
    const fetch = async () => Response.json({ keys: [{ ...jwk, ...times }] })
    const verify = verifierFor({ url: KEY_SET }, fetch)
    const { verdict, reason } = await verify(await agent.sign(SHOP))
    return reason ?? verdict
  }
  const seconds = Math.floor(Date.now() / 1000)
  for (const times of [
    { nbf: seconds + 3600 },
    { exp: seconds - 1 },
    { nbf: (seconds + 3600) * 1000 },
    { exp: seconds * 1000 - 1 },
    { exp: 'soon' },
    { nbf: null },
  ]) {
    assert.equal(await verdictFor(times), 'unknown-key', JSON.stringify(times))
  }
  for (const times of [
    { nbf: seconds - 3600, exp: seconds + 3600 },
    { nbf: (seconds - 3600) * 1000, exp: (seconds + 3600) * 1000 },
  ]) {
    assert.equal(await verdictFor(times), 'verified', JSON.stringify(times))
  }
})

test('a key that expires is no longer used, without another request to the directory', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const { agent, jwk } = await foreignSigner()
  const exp = Math.floor(Date.now() / 1000) + 60
  const fetch = t.mock.fn(async () => Response.json({ keys: [{ ...jwk, exp }] }))
  const verify = verifierFor({ url: KEY_SET }, fetch)
  assert.equal((await verify(await agent.sign(SHOP))).verdict, 'verified')
  t.mock.timers.tick(61_000)
  assert.equal((await verify(await agent.sign(SHOP))).reason, 'unknown-key')
  assert.equal(fetch.mock.callCount(), 1)
})

test('only https addresses at host names can be listed', async () => {
  for (const url of ['http://bots.example', 'https://127.0.0.1', 'https://localhost', 'bots']) {
    await failsWith('INVALID_ARGUMENT', (async () => keyDirectories([{ url }]))())
  }
})
