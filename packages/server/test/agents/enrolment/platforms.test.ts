import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { EnrolmentRule } from '@countersign/protocol'
import { assertRefused } from '../../../../../test/support/answer.ts'
import { newKey } from '../../../../../test/support/key.ts'
import {
  enrol,
  enrolmentBody,
  newPlatform,
  ruleFor,
  SUBJECT,
  signToken,
  thumbprintOf,
} from '../../../../../test/support/platform.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { didIn, newOwner, newRule, ownAgent } from './with-rules.ts'

const DOMAIN = 'spiffe://example.org'

test('a JWT-SVID without iss and iat enrols in its trust domain, by a key for JWT-SVIDs', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const [svid, x509] = ['P-256', 'P-256'].map((namedCurve) =>
    generateKeyPairSync('ec', { namedCurve }),
  ) as [ReturnType<typeof generateKeyPairSync>, ReturnType<typeof generateKeyPairSync>]
  const jwk = (pair: typeof svid, kid: string, use: string) => ({
    ...pair.publicKey.export({ format: 'jwk' }),
    kid,
    use,
  })
  const rule = await newRule(owner, {
    name: 'workloads',
    trustDomain: 'example.org',
    keys: { jwks: { keys: [jwk(svid, 'a', 'jwt-svid'), jwk(x509, 'b', 'x509-svid')] } },
    match: { '/sub': [`${DOMAIN}/crawler`, `${DOMAIN}/reader`] },
    binding: 'key',
    agentIdClaim: '/sub',
  })
  const exp = Math.floor(Date.now() / 1000) + 300
  const send = async (sub: string, signer: typeof svid, kid: string, more: object = {}) => {
    const key = newKey()
    const aud = [`${rule.audience}/${thumbprintOf(key)}`]
    const token = await signToken(
      signer.privateKey,
      { alg: 'ES256', kid },
      { sub, aud, exp, ...more },
    )
    return enrol(service, enrolmentBody(service, rule.id, token, key))
  }
  const did = didIn(await send(`${DOMAIN}/reader`, svid, 'a'))
  const { agentId, enrolment } = await ownAgent(owner, did)
  assert.deepEqual([agentId, enrolment?.claims], [`${DOMAIN}/reader`, { sub: `${DOMAIN}/reader` }])
  const foreign = await send('spiffe://federated.example/reader', svid, 'a')
  assertRefused(foreign, 403, 'FORBIDDEN', /\(claim\)/)
  const evil = await send(`${DOMAIN}.evil/reader`, svid, 'a')
  assertRefused(evil, 403, 'FORBIDDEN', /\(claim\)/)
  const certificateKey = await send(`${DOMAIN}/reader`, x509, 'b')
  assertRefused(certificateKey, 403, 'FORBIDDEN', /\(unknown-key\)/)
  const long = await send(`${DOMAIN}/reader`, svid, 'a', { exp: exp + 3600 })
  assertRefused(long, 403, 'FORBIDDEN', /\(times\)/)
})

test('a token without kid needs a set with one key; of two keys with one name, either verifies', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const [first, second] = [newPlatform(), newPlatform()]
  const both = { jwks: { keys: [...first.jwks.keys, ...second.jwks.keys] } }
  const one = await newRule(owner, ruleFor(first))
  const two = await newRule(owner, ruleFor(first, { keys: both }))
  const send = async (rule: EnrolmentRule, platform: typeof first, header: object) => {
    // Tokens that differ in their signatures only count as one.
    const claims = { aud: rule.audience, sub: SUBJECT, jti: randomUUID() }
    const token = await platform.token(claims, header)
    return enrol(service, enrolmentBody(service, rule.id, token))
  }
  didIn(await send(one, first, { kid: undefined }))
  const ambiguous = await send(two, first, { kid: undefined })
  assertRefused(ambiguous, 403, 'FORBIDDEN', /\(unknown-key\)/)
  for (const platform of [first, second]) didIn(await send(two, platform, {}))
})

test('a pod enrols with its own token, GitLab and Google by the claims that they pin', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const sub = 'system:serviceaccount:crawl:crawler'
  const pod = { namespace: 'crawl', pod: { name: 'crawler-1', uid: 'b1c5e0a2' } }
  const cases = [
    ['https://cluster.example', { '/sub': sub }, { sub, 'kubernetes.io': pod }],
    [
      'https://gitlab.com',
      { '/project_id': '7', '/ref_protected': 'true' },
      { project_id: '7', ref_protected: 'true', sub: 'project_path:a/b' },
    ],
    [
      'https://accounts.google.com',
      { '/google/compute_engine/project_id': 'p-1' },
      { sub: '1', google: { compute_engine: { project_id: 'p-1' } } },
    ],
  ] as const
  for (const [issuer, match, claims] of cases) {
    const platform = newPlatform(issuer)
    const rule = await newRule(owner, ruleFor(platform, { match }))
    const token = await platform.token({ ...claims, aud: rule.audience })
    didIn(await enrol(service, enrolmentBody(service, rule.id, token)))
    const fork = { ...claims, project_id: '8', google: {}, sub: 'other', aud: rule.audience }
    const stranger = enrolmentBody(service, rule.id, await platform.token(fork))
    assertRefused(await enrol(service, stranger), 403, 'FORBIDDEN', /\(claim\)/)
  }
})
