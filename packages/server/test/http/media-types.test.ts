import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { ask, post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import {
  assertClaimsRefused,
  assertVerificationsRefused,
  verifyBody,
} from '../../../../test/support/refused-posts.ts'
import { claimAgent, claimBody, startTestService } from '../../../../test/support/service.ts'

const UNSUPPORTED = { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' } as const

const OTHERS = [
  'text/plain',
  'text/plain;charset=UTF-8',
  'text/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'application/xml',
  'application/cbor',
  'application/did+json',
  'application/problem+json',
  'application/jsonx',
  'application/json-patch+json',
  'application',
  'json',
  '*/*',
  'application/*',
  'application/json, text/plain',
  'text/plain, application/json',
  'text/plain; x=application/json',
  '"application/json"',
  'application/json; charset=utf-16',
  'application/json; charset=UTF-16LE',
  'application/json; charset=iso-8859-1',
  'application/json; charset=us-ascii',
  'application/json; charset="utf-16"',
  'application/json;charset=utf-7',
  'application/json; CHARSET=utf-16',
  'application/json; charset=',
  'application/json; charset=utf-8; charset=utf-16',
  'application/json; charset=utf-16; charset=utf-8',
]

test('a claim in another media type or charset is rejected and uses no token', async (t) => {
  await assertClaimsRefused(
    t,
    OTHERS.map((contentType) => ({
      name: contentType,
      contentType,
      change: (good) => good,
      ...UNSUPPORTED,
    })),
  )
})

test('a verification in another media type or charset is rejected', async (t) => {
  await assertVerificationsRefused(
    t,
    OTHERS.map((contentType) => ({
      name: contentType,
      contentType,
      change: (good) => good,
      ...UNSUPPORTED,
    })),
  )
})

test('every spelling of the JSON media type in UTF-8 is accepted', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const spellings = [
    'application/json',
    'APPLICATION/Json',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json; profile=x',
  ]
  for (const contentType of spellings) {
    await t.test(contentType, async () => {
      const key = newKey()
      const claim = claimBody(await service.operator.issueToken(owner), key)
      assert.equal((await post(service, '/api/v1/claim', claim, contentType)).status, 200)
      const verification = verifyBody(key)
      const answer = await post(service, '/api/v1/agent/verify', verification, contentType)
      assert.equal(answer.status, 200)
    })
  }
})

test('a body without a media type is rejected', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  // fetch gives bytes no media type of its own.
  const body = Buffer.from(JSON.stringify(verifyBody(key)))
  for (const path of ['/api/v1/claim', '/api/v1/agent/verify']) {
    const answer = await unchanged(service, () => ask(service, path, { method: 'POST', body }))
    assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
  }
})

test('a body with a content coding is rejected, not decompressed', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  for (const coding of ['gzip', 'br', 'deflate', 'identity, gzip', 'x']) {
    await t.test(coding, async () => {
      const answer = await ask(service, '/api/v1/agent/verify', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': coding },
        body: JSON.stringify(verifyBody(key)),
      })
      assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
    })
  }
})

test('a form or text posted from another site changes nothing', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const claim = claimBody(await service.operator.issueToken(owner))
  // What browsers send without asking first (the simple requests of CORS).
  for (const contentType of ['text/plain', 'application/x-www-form-urlencoded']) {
    const answer = await unchanged(service, () =>
      ask(service, '/api/v1/claim', {
        method: 'POST',
        headers: { 'content-type': contentType, origin: 'https://elsewhere.example' },
        body: JSON.stringify(claim),
      }),
    )
    assertRefused(answer, 415, 'UNSUPPORTED_MEDIA_TYPE')
    assert.equal(answer.headers.get('access-control-allow-origin'), null)
  }
})
