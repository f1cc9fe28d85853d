import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyThumbprint } from '@countersign/protocol'
import {
  certificateOf,
  certificatePath,
  decodeJws,
  stapleClaims,
  stapleOf,
} from '../../../../../test/support/agent-certificates.ts'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { untilLogged } from '../../../../../test/support/log-client.ts'
import { rotateKey } from '../../../../../test/support/rotate-key.ts'
import { claimAgent, startTestService } from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { verifyOwner } from '../../../src/accounts/identity/record-verification.ts'
import { loadPepper } from '../../../src/secrets/secrets.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Twenty minutes past ten. */
const START = Date.UTC(2026, 0, 5, 10, 20)

function bytesOf(publicKey: string): Buffer {
  return Buffer.from(publicKey, 'base64')
}

test('a certificate states the key, the identity and the grade, and nothing that somebody wrote about themselves', async (t) => {
  const service = await startTestService(t, {}, () => START)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner('ada'), key)
  await untilLogged(service, 1)
  const { header, claims } = decodeJws(await certificateOf(service, did))

  assert.deepEqual(Object.keys(header), ['alg', 'kid', 'typ'])
  assert.equal(header.typ, 'dc+sd-jwt')
  const { jti, status, ...others } = claims
  assert.match(jti, /^[\w-]{22}$/)
  const { uri, idx } = status.status_list
  assert.match(uri, new RegExp(`^${service.url}/status/\\d+$`))
  assert.ok(Number.isInteger(idx))
  const authority = new URL(service.url).host.replace(':', '%3A')
  assert.deepEqual(others, {
    iss: service.url,
    sub: did,
    iat: START / 1000,
    exp: (START + 24 * HOUR) / 1000,
    vct: `${service.url}/credentials/agent-certificate`,
    cnf: {
      jwk: { kty: 'OKP', crv: 'Ed25519', x: bytesOf(key.publicKey).toString('base64url') },
    },
    identityMethod: 'in-person',
    identityLevel: 'verified',
    assurance: 'substantial',
    grade: 'C',
    policyVersion: 1,
    keySequence: 1,
    keyChangedAt: new Date(START).toISOString(),
    did_web: `did:web:${authority}:agent:${did}`,
    log: { origin: `${new URL(service.url).host}/log/1`, index: 0 },
  })

  const { vct, claims: described } = JSON.parse(
    (await ask(service, new URL(claims.vct).pathname)).text,
  ) as { vct: string; claims: { path: string[] }[] }
  assert.equal(vct, claims.vct)
  const names = described.map(({ path }) => path[0])
  // This agent may not delegate, and has had one owner.
  const absent = ['maxDelegationDepth', 'ownerChangedAt']
  assert.deepEqual(
    names.filter((name) => !absent.includes(name ?? '')),
    Object.keys(others).slice(6),
  )
  const issuer = JSON.parse((await ask(service, '/.well-known/jwt-vc-issuer')).text)
  assert.deepEqual(issuer, {
    issuer: claims.iss,
    jwks_uri: `${service.url}/.well-known/jwks.json`,
  })
})

test('the format follows Accept, the algorithm the query', async (t) => {
  const service = await startTestService(t, {}, () => START)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await untilLogged(service, 1)
  const get = (accept?: string, query = '') =>
    ask(service, certificatePath(did, query), accept ? { headers: { accept } } : {})
  const plain = await get()
  assert.equal(plain.headers.get('content-type'), 'application/jwt')
  assert.equal(plain.headers.get('cache-control'), 'public, max-age=0, must-revalidate')
  assert.equal(plain.headers.get('access-control-allow-origin'), '*')
  assert.equal(plain.headers.get('vary'), 'Accept')
  for (const accept of ['*/*', 'text/html', 'application/jwt, application/dc+sd-jwt;q=0.5']) {
    assert.equal((await get(accept)).text, plain.text, accept)
  }
  const sdJwt = await get('application/dc+sd-jwt')
  assert.equal(sdJwt.headers.get('content-type'), 'application/dc+sd-jwt')
  assert.equal(sdJwt.text, `${plain.text}~`)
  assert.notEqual(sdJwt.headers.get('etag'), plain.headers.get('etag'))

  const es256 = await get(undefined, '?alg=ES256')
  const { header, claims } = decodeJws(es256.text)
  assert.equal(header.alg, 'ES256')
  assert.notEqual(header.kid, decodeJws(plain.text).header.kid)
  const { jti: _other, ...same } = claims
  const { jti: _jti, ...expected } = decodeJws(plain.text).claims
  assert.deepEqual(same, expected)
  assert.equal((await get(undefined, '?alg=ES256')).text, es256.text, 'signed once')
  for (const query of ['?alg=none', '?alg=HS256', '?alg=EdDSA&alg=ES256', '?alg=']) {
    assertRefused(await get(undefined, query), 400, 'VALIDATION_ERROR')
  }

  const etag = plain.headers.get('etag') as string
  const unchanged = await ask(service, certificatePath(did), { headers: { 'if-none-match': etag } })
  assert.equal(unchanged.status, 304)
  const head = await ask(service, certificatePath(did), { method: 'HEAD' })
  assert.deepEqual([head.status, head.text, head.headers.get('etag')], [200, '', etag])
  assertRefused(
    await ask(service, certificatePath(did), { method: 'POST' }),
    405,
    'METHOD_NOT_ALLOWED',
  )
  const preflight = await ask(service, certificatePath(did), { method: 'OPTIONS' })
  assert.equal(preflight.headers.get('allow'), 'GET, HEAD, OPTIONS')
  assertRefused(await ask(service, certificatePath('1'.repeat(24))), 404, 'NOT_FOUND')
})

test('the same content gives the same certificate for an hour; a change gives another one at once', async (t) => {
  let time = START
  const service = await startTestService(t, {}, () => time)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  await untilLogged(service, 1)
  const all = await Promise.all(Array.from({ length: 8 }, () => certificateOf(service, did)))
  assert.equal(new Set(all).size, 1, 'requests at the same time get the same bytes')
  const [first] = all as [string]
  time = Date.UTC(2026, 0, 5, 10, 59, 59)
  assert.equal(await certificateOf(service, did), first)
  time += MINUTE
  const next = decodeJws(await certificateOf(service, did)).claims
  assert.equal(next.iat, Date.UTC(2026, 0, 5, 11) / 1000)
  assert.deepEqual(next.status, decodeJws(first).claims.status, 'its entry stays the same')
  assert.notEqual(next.jti, decodeJws(first).claims.jti)

  const key = newKey()
  await rotateKey(service, did, bytesOf(key.publicKey))
  const rotated = decodeJws(await certificateOf(service, did)).claims
  assert.equal(rotated.keySequence, 2)
  assert.equal(rotated.cnf.jwk.x, bytesOf(key.publicKey).toString('base64url'))
  assert.notDeepEqual(rotated.status, next.status, 'a certificate of the former key is revoked')
})

test('a certificate ends with the verification that it rests on, and after CERTIFICATE_LIFETIME', async (t) => {
  let time = START
  const service = await startTestService(t, { CERTIFICATE_LIFETIME: '12h' }, () => time)
  const { operator, settings } = service
  const owner = await operator.addVerifiedOwner()
  const did = await claimAgent(service, owner)
  const lifetimeOf = async () => {
    const { iat, exp } = decodeJws(await certificateOf(service, did)).claims
    return (exp - iat) * 1000
  }
  assert.equal(await lifetimeOf(), 12 * HOUR)
  const expiresAt = START + 3 * HOUR
  const verifying = { db: operator.db, now: () => time, pepper: loadPepper(settings) }
  await verifyOwner(verifying, owner, {
    provider: 'in-person',
    issuer: 'host',
    subject: String(owner),
    assurance: 'substantial',
    expiresAt,
  })
  time = START + 2 * HOUR + MINUTE / 2
  await untilTicked(service, async () => {
    const { exp } = decodeJws(await certificateOf(service, did)).claims
    return exp * 1000 === expiresAt
  })
  const fresh = stapleClaims(await stapleOf(service, did))
  assert.equal((fresh.exp - fresh.iat) * 1000, 15 * MINUTE)
  time = expiresAt - MINUTE
  assert.equal(stapleClaims(await stapleOf(service, did)).exp * 1000, expiresAt)
})

test('a suspended or revoked agent has no certificate; its staple says what it is', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const before = await certificateOf(service, did)
  const active = stapleClaims(await stapleOf(service, did))
  assert.deepEqual(
    [active.iss, active.sub, active.cnf.jkt, active.agentStatus, active.grade],
    [service.url, did, keyThumbprint(bytesOf(key.publicKey)), 'active', 'C'],
  )
  assert.ok(active.exp - active.iat <= 15 * 60)

  await setStatus(service, did, 'suspended')
  const refused = await ask(service, certificatePath(did))
  assertRefused(refused, 409, 'AGENT_NOT_ACTIVE')
  assert.match(refused.text, /This agent is suspended/)
  assert.equal(refused.headers.get('access-control-allow-origin'), '*')
  const suspended = stapleClaims(await stapleOf(service, did))
  assert.deepEqual([suspended.agentStatus, suspended.grade], ['suspended', 'E'])

  await setStatus(service, did, 'active')
  const after = decodeJws(await certificateOf(service, did)).claims
  assert.deepEqual(after.status, decodeJws(before).claims.status)
  await setStatus(service, did, 'revoked')
  const final = await ask(service, certificatePath(did))
  assertRefused(final, 409, 'AGENT_NOT_ACTIVE')
  assert.match(final.text, /This agent is revoked/)
  assert.equal(stapleClaims(await stapleOf(service, did)).agentStatus, 'revoked')
})
