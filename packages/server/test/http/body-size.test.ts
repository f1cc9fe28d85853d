import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused } from '../../../../test/support/answer.ts'
import { askRaw, post } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { newKey } from '../../../../test/support/key.ts'
import { sendRaw } from '../../../../test/support/raw-http.ts'
import {
  assertClaimsRefused,
  type BadPost,
  verifyBody,
} from '../../../../test/support/refused-posts.ts'
import {
  type ClaimBody,
  claimAgent,
  claimBody,
  startTestService,
} from '../../../../test/support/service.ts'

const KIB = 1024
const TOO_LARGE = { status: 413, code: 'PAYLOAD_TOO_LARGE' } as const
const MALFORMED = { status: 400, code: 'VALIDATION_ERROR' } as const

/** The same JSON with white space in front, of so many bytes. */
function padded(body: object, size: number): string {
  return JSON.stringify(body).padStart(size)
}

test('a body of more than 16 KiB is rejected, whatever it contains', async (t) => {
  const bodies: [string, (good: ClaimBody) => string][] = [
    ['a good claim in 16 KiB and one byte', (good) => padded(good, 16 * KIB + 1)],
    ['a good claim in 17 KiB', (good) => padded(good, 17 * KIB)],
    ['17 KiB of zeros', () => '0'.repeat(17 * KIB)],
    ['a label of 17 KiB', (good) => JSON.stringify({ ...good, agentId: 'a'.repeat(17 * KIB) })],
    ['arrays nested 200,000 deep', () => '['.repeat(200_000) + ']'.repeat(200_000)],
    ['objects nested 200,000 deep', () => `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`],
    ['two megabytes', () => ' '.repeat(2 * KIB * KIB)],
  ]
  await assertClaimsRefused(
    t,
    bodies.map(([name, change]): BadPost<ClaimBody> => ({ name, change, ...TOO_LARGE })),
  )
})

test('a body nested as deeply as 16 KiB allows is rejected like any other', async (t) => {
  const deep = 8 * KIB - 200
  const bodies: [string, (good: ClaimBody) => string][] = [
    ['arrays', () => '['.repeat(deep) + ']'.repeat(deep)],
    ['arrays that do not end', () => '['.repeat(16 * KIB)],
    ['objects', () => `${'{"a":'.repeat(2700)}1${'}'.repeat(2700)}`],
    ['arrays for a label', (good) => nested(good, '['.repeat(7000), ']'.repeat(7000))],
    ['objects for a label', (good) => nested(good, `${'{"a":'.repeat(2500)}1`, '}'.repeat(2500))],
    [
      '__proto__ at the bottom',
      (good) => nested(good, `${'['.repeat(7000)}{"__proto__":1}`, ']'.repeat(7000)),
    ],
  ]
  await assertClaimsRefused(
    t,
    bodies.map(([name, change]) => ({ name, change, ...MALFORMED })),
  )
})

test('a body of exactly 16 KiB is read', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const owner = await service.operator.addVerifiedOwner()
  const claim = claimBody(await service.operator.issueToken(owner), key)
  assert.equal((await post(service, '/api/v1/claim', padded(claim, 16 * KIB))).status, 200)
  const verification = padded(verifyBody(key), 16 * KIB)
  assert.equal((await post(service, '/api/v1/agent/verify', verification)).status, 200)
})

test('a verification of more than 16 KiB is rejected', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const answer = await unchanged(service, () =>
    post(service, '/api/v1/agent/verify', padded(verifyBody(key), 16 * KIB + 1)),
  )
  assertRefused(answer, 413, 'PAYLOAD_TOO_LARGE')
})

test('the limit applies to chunked bodies, whose length is not announced', async (t) => {
  const service = await startTestService(t)
  const owner = await service.operator.addVerifiedOwner()
  const claim = claimBody(await service.operator.issueToken(owner))
  const chunked = (size: number) =>
    'POST /api/v1/claim HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n' +
    `Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${padded(claim, size)}\r\n0\r\n\r\n`
  const refused = await unchanged(service, () => askRaw(service, chunked(16 * KIB + 1)))
  assertRefused(refused, 413, 'PAYLOAD_TOO_LARGE')
  assert.equal((await askRaw(service, chunked(16 * KIB))).status, 200)
})

test('a body announced as too large is rejected before it arrives', async (t) => {
  const service = await startTestService(t)
  const head = (more: string) =>
    `POST /api/v1/claim HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${17 * KIB}\r\n${more}\r\n`
  assertRefused(await askRaw(service, head(''), { count: 1 }), 413, 'PAYLOAD_TOO_LARGE')
})

test('a client that is still sending a rejected body gets the 413, not a reset connection', async (t) => {
  const service = await startTestService(t)
  const head = `POST /api/v1/claim HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${KIB * KIB}\r\n\r\n`
  const next = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
  const sent = head + ' '.repeat(KIB * KIB) + next
  const { answers } = await sendRaw(service.url, sent, { count: 2 })
  assert.deepEqual(
    answers.map(({ status }) => status),
    [413, 200],
  )
})

/** A good claim with something nested in place of its label. */
function nested(good: ClaimBody, open: string, close: string): string {
  return JSON.stringify({ ...good, agentId: 0 }).replace('"agentId":0', `"agentId":${open}${close}`)
}
