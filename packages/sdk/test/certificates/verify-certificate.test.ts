import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { STATUS_LIST_BYTES, TOKEN_TYPES } from '@countersign/protocol'
import {
  CountersignError,
  newKey,
  type VerifyCertificateOptions,
  verifyCertificate,
  verifyStaple,
} from '@countersign/sdk'
import { startSite } from '../../../../test/support/impostor.ts'
import {
  newIssuerKey,
  signBytes,
  type TestIssuer,
  testIssuer,
} from '../../../../test/support/test-issuer.ts'

const ISSUER = 'https://id.example'
const DID = `svc:agent:${'A'.repeat(24)}`
const HOUR = 3_600

async function setUp(origin = ISSUER) {
  const issuer = testIssuer(origin)
  const { publicKey } = await newKey()
  const agent = { did: DID, publicKey }
  const options = async (others: Partial<VerifyCertificateOptions> = {}) => ({
    issuers: [{ issuer: origin, jwks: issuer.keySet() }],
    statusLists: [await issuer.statusList(1)],
    ...others,
  })
  return { issuer, agent, options }
}

const code = (expected: string, message?: RegExp) => (error: unknown) =>
  error instanceof CountersignError &&
  error.code === expected &&
  (message === undefined || message.test(error.message))

/** A token with other header members, signed by a key of the issuer. */
function withHeader(issuer: TestIssuer, token: string, members: Record<string, unknown>) {
  const [header = '', payload = ''] = token.split('.')
  const parsed = JSON.parse(Buffer.from(header, 'base64url').toString())
  const changed = Buffer.from(JSON.stringify({ ...parsed, ...members })).toString('base64url')
  return resigned(issuer, `${changed}.${payload}`)
}

function resigned(issuer: TestIssuer, input: string) {
  const [key] = issuer.keys
  assert.ok(key)
  return `${input}.${Buffer.from(signBytes(key, Buffer.from(input))).toString('base64url')}`
}

test('a certificate under both algorithms verifies without a network, also in the form of an SD-JWT', async () => {
  const { issuer, agent, options } = await setUp()
  for (const alg of ['EdDSA', 'ES256'] as const) {
    const token = await issuer.certificate(agent, {}, {}, alg)
    const verified = await verifyCertificate(token, await options())
    assert.equal(verified.did, DID)
    assert.equal(verified.issuer, ISSUER)
    assert.deepEqual(verified.publicKey, agent.publicKey)
    assert.deepEqual(
      [verified.grade, verified.identityMethod, verified.identityLevel, verified.assurance],
      ['B', 'in-person', 'verified', 'high'],
    )
    assert.deepEqual(verified.statusList, { uri: `${ISSUER}/status/1`, idx: 7 })
    assert.ok(verified.statusAsOf !== null && verified.statusAsOf <= Date.now())
    const sdJwt = await verifyCertificate(`${token}~`, await options())
    assert.deepEqual({ ...sdJwt, statusAsOf: verified.statusAsOf }, verified)
  }
})

test('the status list decides: replaced and revoked, suspended, not there', async () => {
  const { issuer, agent, options } = await setUp()
  const token = await issuer.certificate(agent)
  issuer.setStatus(1, 7, 1)
  await assert.rejects(verifyCertificate(token, await options()), code('CERTIFICATE_REVOKED'))
  issuer.setStatus(1, 7, 2)
  await assert.rejects(verifyCertificate(token, await options()), code('CERTIFICATE_SUSPENDED'))
  issuer.setStatus(1, 7, 0)
  issuer.setStatus(1, 6, 1)
  issuer.setStatus(1, 8, 2)
  assert.equal((await verifyCertificate(token, await options())).did, DID)
  const unassigned = issuer.list(1)
  unassigned[1] = (unassigned[1] as number) | (3 << 6)
  await assert.rejects(verifyCertificate(token, await options()), code('CERTIFICATE_REVOKED'))
  const beyond = await issuer.certificate(agent, { idx: 131_072 })
  await assert.rejects(verifyCertificate(beyond, await options()), code('CERTIFICATE_REVOKED'))
  const none = await options({ statusLists: [] })
  await assert.rejects(verifyCertificate(token, none), code('ISSUER_UNAVAILABLE'))
  const unchecked = await options({ statusLists: null })
  assert.equal((await verifyCertificate(token, unchecked)).statusAsOf, null)
})

test('a certificate counts only as its issuer signed it: type, issuer, vct, times, key, claims', async () => {
  const { issuer, agent, options } = await setUp()
  const now = Math.floor(Date.now() / 1000)
  const claims: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ iss: 'https://other.example' }, /not of an issuer/],
    [{ iss: `${ISSUER}/` }, /not of an issuer/],
    [{ iss: undefined }, /not of an issuer/],
    [{ vct: `${ISSUER}/credentials/other` }, /vct/],
    [{ vct: 'https://other.example/credentials/agent-certificate' }, /vct/],
    [{ exp: now - HOUR }, /expired/],
    [{ exp: undefined }, /no exp/],
    [{ exp: 'never' }, /no exp/],
    [{ iat: now + HOUR, exp: now + 2 * HOUR }, /future/],
    [{ nbf: now + HOUR }, /not valid yet/],
    [{ sub: 'did:web:id.example' }, /other claims/],
    [{ cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) } } }, /key that no agent/],
    [{ cnf: { jkt: 'A'.repeat(43) } }, /other claims/],
    [{ grade: 'A+' }, /other claims/],
    [{ assurance: 'very high' }, /other claims/],
    [{ status: undefined }, /other claims/],
    [{ status: { status_list: { uri: 'https://other.example/status/1', idx: 7 } } }, /status list/],
    [{ status: { status_list: { uri: `${ISSUER}/status/../x`, idx: 7 } } }, /status list/],
    [{ status: { status_list: { uri: `${ISSUER}/status/1`, idx: -1 } } }, /other claims/],
  ]
  for (const [each, message] of claims) {
    const token = await issuer.certificate(agent, {}, each)
    const expected = code('INVALID_TOKEN', message)
    await assert.rejects(verifyCertificate(token, await options()), expected, JSON.stringify(each))
  }
})

test('no other token of the issuer passes for a certificate or a staple', async () => {
  const { issuer, agent, options } = await setUp()
  const certificate = await issuer.certificate(agent)
  const payload = JSON.parse(Buffer.from(certificate.split('.')[1] ?? '', 'base64url').toString())
  for (const typ of [...Object.values(TOKEN_TYPES), 'JWT', 'vc+sd-jwt', 'oauth-authz+jwt']) {
    const token = await issuer.sign(typ, payload)
    if (typ !== TOKEN_TYPES.certificate) {
      const refused = code('INVALID_TOKEN', /has the type/)
      await assert.rejects(verifyCertificate(token, await options()), refused, typ)
    }
    if (typ !== TOKEN_TYPES.staple) {
      await assert.rejects(verifyStaple(token, await options()), code('INVALID_TOKEN'), typ)
    }
  }
})

test('keys in the token itself are refused, and so are extensions and other algorithms', async () => {
  const { issuer, agent, options } = await setUp()
  const token = await issuer.certificate(agent)
  const attacker = newIssuerKey('EdDSA')
  const members: Record<string, unknown>[] = [
    { jwk: attacker.jwk },
    { jku: 'https://attacker.example/jwks.json' },
    { x5c: ['AAAA'] },
    { x5u: 'https://attacker.example/chain' },
    { crit: ['exp'] },
    { b64: false },
    { alg: 'none' },
    { alg: 'HS256' },
    { alg: 'Ed25519' },
    // The key is Ed25519: the algorithm follows from the key.
    { alg: 'ES256' },
    { kid: attacker.jwk.kid },
    { kid: undefined },
  ]
  for (const each of members) {
    const changed = await withHeader(issuer, token, each)
    const asked = code('INVALID_TOKEN')
    await assert.rejects(verifyCertificate(changed, await options()), asked, JSON.stringify(each))
  }
  // Members that change nothing are ignored.
  assert.ok(await verifyCertificate(await withHeader(issuer, token, { cty: 'x' }), await options()))
})

test('altered, truncated and badly encoded tokens are refused', async () => {
  const { issuer, agent, options } = await setUp()
  const token = await issuer.certificate(agent)
  const [header, payload, signature] = token.split('.')
  const other = await issuer.certificate(agent, {}, { grade: 'A' })
  const broken = [
    '',
    'x',
    `${header}.${payload}`,
    `${header}.${payload}.`,
    `${header}.${other.split('.')[1]}.${signature}`,
    `${header}.${payload}.${'A'.repeat(86)}`,
    `${token}=`,
    `${token}.x`,
    `${token}~~`,
    `${token}~WyJzYWx0IiwiYSIsMV0~`,
    ` ${token}`,
    'x'.repeat(200_000),
  ]
  for (const each of broken) {
    await assert.rejects(verifyCertificate(each, await options()), code('INVALID_TOKEN'))
  }
  const stranger = testIssuer(ISSUER)
  const forged = await stranger.certificate(agent)
  await assert.rejects(verifyCertificate(forged, await options()), code('INVALID_TOKEN', /list/))
})

test('a status list counts only as its issuer signed it: address, type, times, size', async () => {
  const { issuer, agent, options } = await setUp()
  const token = await issuer.certificate(agent)
  const now = Math.floor(Date.now() / 1000)
  const stranger = testIssuer('https://other.example')
  const lst = (bytes: Uint8Array) => deflateSync(bytes).toString('base64url')
  const uri = `${ISSUER}/status/1`
  const lists = [
    await stranger.statusList(1, { sub: uri }),
    await issuer.statusList(1, { iss: 'https://other.example' }),
    await issuer.statusList(1, { exp: now - HOUR }),
    await issuer.statusList(1, { iat: now + HOUR }),
    await issuer.statusList(1, { status_list: { bits: 1, lst: lst(new Uint8Array(32_768)) } }),
    await issuer.statusList(1, { status_list: { bits: 2, lst: lst(new Uint8Array(100)) } }),
    // 100 MB of zeros are 97 KB: it stops at the size of a list.
    await issuer.statusList(1, {
      status_list: { bits: 2, lst: lst(new Uint8Array(40 * 1024 * 1024)) },
    }),
    await issuer.statusList(1, {
      status_list: { bits: 2, lst: randomBytes(200).toString('base64url') },
    }),
    await issuer.sign(TOKEN_TYPES.staple, { sub: uri, iat: now, exp: now + 600 }),
  ]
  for (const [i, each] of lists.entries()) {
    const given = await options({ statusLists: [each] })
    await assert.rejects(verifyCertificate(token, given), code('INVALID_TOKEN'), `list ${i}`)
  }
  assert.equal(STATUS_LIST_BYTES, 32_768)
  const elsewhere = await options({ statusLists: [await stranger.statusList(1)] })
  await assert.rejects(verifyCertificate(token, elsewhere), code('ISSUER_UNAVAILABLE'))
})

test('a staple says the status of its agent, for its time and its issuer', async () => {
  const { issuer, agent, options } = await setUp()
  for (const agentStatus of ['active', 'suspended', 'revoked']) {
    const staple = await verifyStaple(await issuer.staple(agent, { agentStatus }), await options())
    assert.deepEqual([staple.did, staple.issuer, staple.status], [DID, ISSUER, agentStatus])
    assert.ok(staple.expiresAt - staple.issuedAt === 900_000)
  }
  const now = Math.floor(Date.now() / 1000)
  for (const claims of [
    { exp: now - HOUR },
    { agentStatus: 'fine' },
    { iss: 'https://other.example' },
    { sub: 'x' },
    { cnf: {} },
  ]) {
    const token = await issuer.staple(agent, claims)
    await assert.rejects(verifyStaple(token, await options()), code('INVALID_TOKEN'))
  }
})

test('what cannot be an issuer or its keys is an error of the caller', async () => {
  const { issuer, agent } = await setUp()
  const token = await issuer.certificate(agent)
  const wrong = (issuers: VerifyCertificateOptions['issuers']) =>
    assert.rejects(verifyCertificate(token, { issuers }), code('INVALID_ARGUMENT'))
  await wrong(['http://id.example'])
  await wrong(['id.example'])
  await wrong([`${ISSUER}/path`])
  await wrong([{ issuer: ISSUER, jwks: {} as never }])
  const [key] = issuer.keySet().keys
  assert.ok(key)
  await wrong([{ issuer: ISSUER, jwks: { keys: [key, key] } }])
})

/** An issuer on a real server. */
async function startIssuer(t: TestContext, override?: RequestListener) {
  const asked: string[] = []
  const site: { issuer: TestIssuer | null; override: RequestListener | undefined } = {
    issuer: null,
    override,
  }
  const origin = await startSite(t, async (request, response) => {
    asked.push(String(request.url))
    if (site.override) return site.override(request, response)
    const n = Number(/^\/status\/(\d+)$/.exec(String(request.url))?.[1])
    response.end(n ? await site.issuer?.statusList(n) : JSON.stringify(site.issuer?.keySet()))
  })
  const set = await setUp(origin)
  site.issuer = set.issuer
  return { ...set, origin, asked, site, fetch: ((...args) => fetch(...args)) as typeof fetch }
}

test('keys and lists are fetched from the issuer once, and nothing for tokens of others', async (t) => {
  const { issuer, agent, origin, asked, fetch } = await startIssuer(t)
  const options = { issuers: [origin], fetch }
  const token = await issuer.certificate(agent)
  await Promise.all(Array.from({ length: 5 }, () => verifyCertificate(token, options)))
  assert.equal((await verifyCertificate(token, options)).did, DID)
  assert.deepEqual(asked, ['/.well-known/jwks.json', '/status/1'])
  const others = [
    await testIssuer('https://other.example').certificate(agent),
    await issuer.sign(TOKEN_TYPES.staple, { iss: origin }),
    await issuer.certificate(agent, {}, { status: { status_list: { uri: 'http://x/1', idx: 1 } } }),
  ]
  for (const each of others) {
    await assert.rejects(verifyCertificate(each, options), code('INVALID_TOKEN'))
  }
  // A token with an unknown key causes one request for the keys, and further ones only after a while.
  const stranger = testIssuer(origin)
  for (let i = 0; i < 5; i += 1) {
    const forged = await stranger.certificate(agent)
    await assert.rejects(verifyCertificate(forged, options), code('INVALID_TOKEN'))
  }
  assert.deepEqual(asked.slice(2), [])
})

test('an issuer that cannot be read, or sends too much or a redirect, is unavailable', async (t) => {
  const { issuer, agent, origin, site } = await startIssuer(t)
  const token = await issuer.certificate(agent)
  const answers: RequestListener[] = [
    (_, response) => response.writeHead(500).end(),
    (_, response) => response.writeHead(302, { location: 'https://attacker.example/' }).end(),
    (_, response) => response.end('{"keys":'),
    (_, response) => response.end(JSON.stringify({ keys: 'none' })),
    (_, response) => response.end(' '.repeat(70_000)),
    (request) => request.socket.destroy(),
  ]
  for (const each of answers) {
    site.override = each
    // Each fetch function has a cache of its own.
    const options = { issuers: [origin], fetch: ((...args) => fetch(...args)) as typeof fetch }
    await assert.rejects(verifyCertificate(token, options), code('ISSUER_UNAVAILABLE'))
  }
})
