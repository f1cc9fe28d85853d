import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { EnrolmentRule, ErrorCode } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
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
import { newOwner, newRule, RULES } from './with-rules.ts'

const NOW = () => Math.floor(Date.now() / 1000)

test('a token is refused by the first check that fails, and the check is named', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const other = await newRule(owner, ruleFor(platform, { name: 'other' }))
  const aud = rule.audience
  const sound = { aud, sub: SUBJECT }
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const unsigned = (header: object, payload: object) =>
    [header, payload]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .concat('AAAA')
      .join('.')
  const claims = { iss: platform.issuer, iat: NOW(), exp: NOW() + 60, ...sound }
  const raw = (payload: string) =>
    ['{"alg":"RS256","kid":"key-1"}', payload]
      .map((part) => Buffer.from(part).toString('base64url'))
      .concat('AAAA')
      .join('.')
  const cases: readonly [string, string | Promise<string>, number, ErrorCode, RegExp][] = [
    ['alg none', unsigned({ alg: 'none' }, claims), 403, 'FORBIDDEN', /\(header\)/],
    ['HS256', unsigned({ alg: 'HS256' }, claims), 403, 'FORBIDDEN', /\(header\)/],
    ['EdDSA', unsigned({ alg: 'EdDSA' }, claims), 403, 'FORBIDDEN', /\(header\)/],
    ['jwk', unsigned({ alg: 'RS256', jwk: {} }, claims), 403, 'FORBIDDEN', /jwk/],
    ['jku', unsigned({ alg: 'RS256', jku: 'https://x' }, claims), 403, 'FORBIDDEN', /jku/],
    ['crit', unsigned({ alg: 'RS256', crit: ['b64'] }, claims), 403, 'FORBIDDEN', /crit/],
    ['typ', unsigned({ alg: 'RS256', typ: 'at+jwt' }, claims), 403, 'FORBIDDEN', /typ/],
    ['sub twice', raw(`{"sub":"a","sub":"${SUBJECT}"}`), 403, 'FORBIDDEN', /\(format\)/],
    ['an array', raw('[]'), 403, 'FORBIDDEN', /\(format\)/],
    ['deep', raw(`{"a":${'['.repeat(9)}${']'.repeat(9)}}`), 403, 'FORBIDDEN', /\(format\)/],
    [
      'issuer',
      platform.token({ ...sound, iss: 'https://evil.example' }),
      403,
      'FORBIDDEN',
      /\(issuer\)/,
    ],
    [
      'slash',
      platform.token({ ...sound, iss: `${platform.issuer}/` }),
      403,
      'FORBIDDEN',
      /\(issuer\)/,
    ],
    [
      'another rule',
      platform.token({ ...sound, aud: other.audience }),
      403,
      'FORBIDDEN',
      /\(audience\)/,
    ],
    ['no audience', platform.token({ sub: SUBJECT }), 403, 'FORBIDDEN', /\(audience\)/],
    [
      'two audiences',
      platform.token({ ...sound, aud: [aud, 'x'] }),
      403,
      'FORBIDDEN',
      /\(audience\)/,
    ],
    [
      'a slash more',
      platform.token({ ...sound, aud: `${aud}/` }),
      403,
      'FORBIDDEN',
      /\(audience\)/,
    ],
    [
      'another key',
      platform.token({ ...sound, aud: `${aud}/${thumbprintOf(newKey())}` }),
      403,
      'FORBIDDEN',
      /\(audience\)/,
    ],
    ['expired', platform.token({ ...sound, exp: NOW() - 1 }), 410, 'TOKEN_EXPIRED', /expired/],
    ['no exp', platform.token({ ...sound, exp: undefined }), 403, 'FORBIDDEN', /\(times\)/],
    ['no iat', platform.token({ ...sound, iat: undefined }), 403, 'FORBIDDEN', /\(times\)/],
    ['not yet', platform.token({ ...sound, nbf: NOW() + 120 }), 403, 'FORBIDDEN', /\(times\)/],
    [
      'from the future',
      platform.token({ ...sound, iat: NOW() + 120 }),
      403,
      'FORBIDDEN',
      /\(times\)/,
    ],
    ['48 hours', platform.token({ ...sound, exp: NOW() + 172_800 }), 403, 'FORBIDDEN', /\(times\)/],
    ['a fraction', platform.token({ ...sound, iat: NOW() - 0.5 }), 403, 'FORBIDDEN', /\(times\)/],
    ['unknown key', platform.token(sound, { kid: 'key-2' }), 403, 'FORBIDDEN', /\(unknown-key\)/],
    [
      'another algorithm',
      signToken(ec.privateKey, { alg: 'ES256', kid: 'key-1' }, claims),
      403,
      'FORBIDDEN',
      /\(unknown-key\)/,
    ],
    [
      'another signer',
      newPlatform(platform.issuer).token(sound),
      403,
      'FORBIDDEN',
      /\(signature\)/,
    ],
    [
      'another subject',
      platform.token({ ...sound, sub: 'system:serviceaccount:crawl:other' }),
      403,
      'FORBIDDEN',
      /\/sub/,
    ],
    ['a number', platform.token({ ...sound, sub: 7 }), 403, 'FORBIDDEN', /\/sub/],
    [
      'a Secret',
      platform.token({ ...sound, 'kubernetes.io': { namespace: 'crawl' } }),
      403,
      'FORBIDDEN',
      /pod/,
    ],
  ]
  for (const [name, token, status, code, message] of cases) {
    const answer = await enrol(service, enrolmentBody(service, rule.id, await token))
    assertRefused(answer, status, code, message)
    assert.ok(
      !answer.text.includes(SUBJECT),
      `${name}: the answer does not say what the rule wants`,
    )
  }
  const { lastRefusal, live } = jsonOf<EnrolmentRule>(await owner.get(`${RULES}/${rule.id}`))
  assert.deepEqual([lastRefusal?.check, live], ['claim', 0])
})

test('a token in another spelling is the same token, and the signature of the workload covers it', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform))
  const token = await platform.token({ aud: rule.audience, sub: SUBJECT })
  const key = newKey()
  const body = enrolmentBody(service, rule.id, token, key)
  for (const wrong of [`${token}=`, `${token}.x`, token.slice(0, -1), `${token} `, 'a.b.c', '']) {
    assertRefused(await enrol(service, { ...body, token: wrong }), 400, 'VALIDATION_ERROR')
  }
  const foreign = enrolmentBody(service, rule.id, token)
  const swapped = { ...body, publicKey: foreign.publicKey }
  assertRefused(await enrol(service, swapped), 401, 'INVALID_SIGNATURE')
  const again = await platform.token({ aud: rule.audience, sub: SUBJECT, jti: 'other' })
  assertRefused(await enrol(service, { ...body, token: again }), 401, 'INVALID_SIGNATURE')
  const old = enrolmentBody(service, rule.id, token, key, NOW() - 301)
  assertRefused(await enrol(service, old), 400, 'VALIDATION_ERROR', /5 minutes/)
  assert.equal((await enrol(service, body)).status, 201)
})

test('a token that is bound to a key is of no use to another one', async (t) => {
  const service = await startTestService(t)
  const owner = await newOwner(service)
  const platform = newPlatform()
  const rule = await newRule(owner, ruleFor(platform, { binding: 'key' }))
  const key = newKey()
  const open = await platform.token({ aud: rule.audience, sub: SUBJECT })
  assertRefused(
    await enrol(service, enrolmentBody(service, rule.id, open, key)),
    403,
    'FORBIDDEN',
    /\(audience\)/,
  )
  const aud = `${rule.audience}/${thumbprintOf(key)}`
  const bound = await platform.token({ aud, sub: SUBJECT })
  assertRefused(
    await enrol(service, enrolmentBody(service, rule.id, bound)),
    403,
    'FORBIDDEN',
    /\(audience\)/,
  )
  assert.equal((await enrol(service, enrolmentBody(service, rule.id, bound, key))).status, 201)
})
