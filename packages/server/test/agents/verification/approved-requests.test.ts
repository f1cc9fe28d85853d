import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import {
  type ApprovalChanges,
  type ApprovalSigner,
  approvalToken,
  BODY,
  JSON_TYPE,
  serviceSigner,
} from '../../../../../test/support/approval-token.ts'
import { post } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import { newKey, type TestKey } from '../../../../../test/support/key.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signedHeaders } from '../../../../../test/support/sign-request.ts'

const SHOP = 'https://shop.example'
const ends: (() => unknown)[] = []
let service: TestService
let signer: ApprovalSigner
let key: TestKey
let did: string

before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) })
  signer = await serviceSigner(service)
  key = newKey()
  did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
})
after(async () => {
  for (const end of ends) await end()
})

interface Verdict {
  readonly verdict: string
  readonly reason: string | null
  readonly replayKey: string | null
  readonly approval: {
    readonly id: string
    readonly by: string
    readonly at: string
    readonly expiresAt: string
    readonly useKey: string
    readonly useUntil: string
  } | null
}

/** The request of the agent with an approval, as a site passes it on. */
async function received(token: string | null, body = BODY) {
  const [method, url] = ['POST', `${SHOP}/orders`]
  const headers: [string, string][] = [['Content-Type', JSON_TYPE]]
  if (token !== null) headers.push(['ServiceID-Approval', token])
  const signed = await signedHeaders(service, did, key, { method, url, headers, body })
  return { method, url, headers: signed, audience: SHOP }
}

async function verdictOn(request: object): Promise<Verdict> {
  const answer = await unchanged(service, () => post(service, '/api/v1/verify-request', request))
  assert.equal(answer.status, 200, answer.text)
  return jsonOf<Verdict>(answer)
}

const approve = (changes?: ApprovalChanges) => approvalToken(signer, did, changes)

test('the service says whether a request was approved, and what the site has to record', async () => {
  const token = await approve()
  const first = await verdictOn({ ...(await received(token)), approval: {} })
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const { useKey, useUntil, ...approval } = first.approval ?? assert.fail(String(first.reason))
  const isoOf = (seconds: number) => new Date(seconds * 1000).toISOString()
  assert.deepEqual(approval, {
    id: claims.jti,
    by: 'passkey',
    at: isoOf(claims.iat),
    expiresAt: isoOf(claims.exp),
  })
  assert.match(useKey, /^[\w-]{43}$/)
  assert.equal(useUntil, isoOf(claims.exp + 30))
  const second = await verdictOn({ ...(await received(token)), approval: {} })
  assert.equal(second.approval?.useKey, useKey)
  assert.notEqual(second.replayKey, first.replayKey)
  const other = await verdictOn({ ...(await received(await approve())), approval: {} })
  assert.notEqual(other.approval?.useKey, useKey)
  // A site that requires none is told of none.
  const plain = await verdictOn(await received(token))
  assert.deepEqual([plain.verdict, plain.approval], ['verified', null])
})

test('without an approval of exactly this request, it is not verified', async () => {
  const rows: [expected: string, token: string | null, policy: object, body?: string][] = [
    ['approval-required', null, {}],
    ['approval-required', await approve({ by: 'mandate' }), {}],
    ['approval-invalid', 'none', {}],
    ['approval-invalid', await approve({ iss: 'https://id.other.example' }), {}],
    ['approval-mismatch', await approve(), {}, BODY.replace('129', '999')],
    ['approval-mismatch', await approve({ aud: `${SHOP}:8443`, url: `${SHOP}:8443/orders` }), {}],
    ['approval-mismatch', await approve({ sub: `svc:agent:${'A'.repeat(24)}` }), {}],
    ['approval-expired', await approve({ issuedIn: -601 }), {}],
    ['approval-expired', await approve({ issuedIn: -61 }), { maxAgeSeconds: 60 }],
  ]
  for (const [expected, token, approval, body] of rows) {
    const {
      verdict,
      reason,
      approval: found,
      replayKey,
    } = await verdictOn({
      ...(await received(token, body)),
      approval,
    })
    assert.deepEqual([verdict, reason, found, replayKey], ['invalid', expected, null, null])
  }
  const mandate = await received(await approve({ by: 'mandate' }))
  const both = await verdictOn({ ...mandate, approval: { by: ['passkey', 'mandate'] } })
  assert.equal(both.approval?.by, 'mandate')
})

test('a policy that means nothing is refused', async () => {
  const request = await received(await approve())
  for (const approval of [
    { by: [] },
    { by: ['operator'] },
    { maxAgeSeconds: 59 },
    { maxAgeSeconds: 3601 },
    { bodyCheckedByApplication: true },
    null,
  ]) {
    const answer = await post(service, '/api/v1/verify-request', { ...request, approval })
    assertRefused(answer, 400, 'VALIDATION_ERROR')
  }
})
