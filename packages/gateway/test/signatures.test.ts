import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { agentSignIn } from '@countersign/sdk'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { type Cleanup, startTestService, type TestService } from '../../../test/support/service.ts'
import { setStatus } from '../../../test/support/set-status.ts'
import type { Decision } from '../src/decision/decision.ts'
import type { GatewayOptions } from '../src/options.ts'
import { FRAMEWORKS, type Seen } from './support/frameworks.ts'
import { olderNonceStore, SHOP, send, signingAgent } from './support/signing.ts'

let service: TestService
let signer: Awaited<ReturnType<typeof signingAgent>>
const cleanup = fileCleanup()

before(async () => {
  service = await startTestService(cleanup)
  signer = await signingAgent(service)
})
/** "Only agents of verified owners may POST /orders, proven, 402 otherwise." */
const ORDERS = {
  levels: { none: 'allow', unknown: 'allow', unverified: 'allow' },
  routes: [
    {
      path: '/orders',
      methods: ['POST'],
      requireProof: true,
      levels: { none: 'deny', unknown: 'deny', unverified: 'deny' },
      refusal: { status: 402 },
    },
  ],
} as const

const TEXT = { 'content-type': 'text/plain' }
const order = (body = 'one item') =>
  signer.agent.sign(`${SHOP}/orders`, { method: 'POST', headers: TEXT, body })

for (const [name, start] of Object.entries(FRAMEWORKS)) {
  const site = async (t: Cleanup, options: Partial<GatewayOptions> = {}) => {
    const decisions: Decision[] = []
    const url = await start(t, {
      service: service.url,
      timeoutMs: 30_000,
      audiences: [SHOP],
      tlsTerminated: true,
      nonces: olderNonceStore(),
      policy: { requireProof: true },
      onDecision: (decision) => decisions.push(decision),
      ...options,
    })
    return { url, decisions, last: () => decisions.at(-1) as Decision }
  }
  const bodyIsVisible = name === 'Hono' || name === 'fetch'

  test(`${name}: a signed request proves the agent, and the same request again is refused`, async (t) => {
    const { url, last } = await site(t)
    const { did } = signer
    const request = await signer.agent.sign(`${SHOP}/a/b?c=d`)
    const forged = { 'X-ServiceID-Proof': 'session', x_serviceid_proof: 'session' }
    const answer = await send(url, request, { headers: forged })
    assert.equal(answer.status, 200, answer.text)
    const { agent, fields } = JSON.parse(answer.text) as Seen
    assert.deepEqual([agent.did, agent.proof, agent.proofOfPossession], [did, 'signature', true])
    assert.deepEqual([agent.signature?.verdict, agent.signature?.replay], ['verified', 'checked'])
    const proofs = fields.filter(([field]) => /^x.serviceid.proof$/i.test(field))
    assert.deepEqual(
      [...new Set(proofs.map(String))].map((each) => each.toLowerCase()).sort()[0],
      'x-serviceid-proof,signature',
    )
    assert.ok(proofs.every(([, value]) => value === 'signature'))
    assert.equal((await send(url, request)).status, 401)
    assert.equal(last().signature?.reason, 'replay')
  })

  test(`${name}: a stranger who names a public DID is asked for a signature`, async (t) => {
    const { url } = await site(t)
    const bare = new Request(`${SHOP}/x?y`, { headers: { ServiceID: signer.did } })
    const answer = await send(url, bare)
    assert.equal(answer.status, 401)
    assert.equal(answer.headers['www-authenticate'], 'ServiceID')
    assert.equal(
      answer.headers['accept-signature'],
      'sig1=("@method" "@authority" "@path" "@query" "signature-agent";key="sig1" "serviceid");created;expires;tag="web-bot-auth"',
    )
    assert.match(String(answer.headers.vary), /\bSignature\b/)
    assert.deepEqual(JSON.parse(answer.text).error.reasons, ['proof-required', 'header-only'])
  })

  test(`${name}: a request that was changed after it was signed is refused, whatever its header says`, async (t) => {
    const { url, last } = await site(t, { policy: ORDERS })
    const { agent } = signer
    const rows: [string, Request, Parameters<typeof send>[2]][] = [
      ['bad-signature', await agent.sign(`${SHOP}/a`), { target: '/b' }],
      ['bad-signature', await agent.sign(`${SHOP}/a`), { method: 'DELETE' }],
      ['bad-signature', await agent.sign(`${SHOP}/a?b`), { target: '/a?c' }],
      ['components', await agent.sign(`${SHOP}/a`), { target: '/a?c' }],
      ['authority', await agent.sign(`${SHOP}/a`), { host: 'other.example' }],
      ['components', await agent.sign(`${SHOP}/a`), { method: 'POST', body: 'added' }],
      ['malformed', await agent.sign(`${SHOP}/a`), { headers: { signature: '' } }],
      ['bad-signature', await agent.sign(`${SHOP}/a`), { headers: { serviceid: 'x' } }],
    ]
    for (const [reason, request, changes] of rows) {
      const answer = await send(url, request, changes)
      assert.equal(last().signature?.reason, reason)
      assert.equal(answer.status, 401, reason)
      // The reason is not for callers that proved nothing.
      assert.deepEqual(JSON.parse(answer.text).error.reasons, ['signature-invalid'])
      assert.equal(last().did, null)
    }
  })

  test(`${name}: the recipe: only agents of verified owners may POST /orders, proven, 402 otherwise`, async (t) => {
    const { url } = await site(t, { policy: ORDERS })
    const signed = await order()
    const answer = await send(url, signed)
    assert.equal(answer.status, 200, answer.text)
    const { agent, fields, body } = JSON.parse(answer.text) as Seen
    assert.equal(body, 'one item')
    assert.equal(agent.signature?.digest, bodyIsVisible ? 'checked' : 'unchecked')
    const digest = fields.find(([field]) => field.toLowerCase() === 'x-serviceid-content-digest')
    assert.equal(digest?.[1], signed.headers.get('content-digest'))
    const bare = new Request(`${SHOP}/orders`, {
      method: 'POST',
      headers: { ServiceID: signer.did },
    })
    const unproven = await send(url, bare)
    assert.equal(unproven.status, 402)
    assert.match(String(unproven.headers['accept-signature']), /"content-digest"/)
    assert.equal((await send(url, new Request(`${SHOP}/orders`, { method: 'POST' }))).status, 402)
    assert.equal((await send(url, new Request(`${SHOP}/orders`))).status, 200)
  })

  test(`${name}: a body that was changed is refused where it is visible, else the site gets the signed digest`, async (t) => {
    const { url, last } = await site(t)
    const answer = await send(url, await order(), { body: 'two items' })
    if (bodyIsVisible) {
      assert.equal(answer.status, 401)
      assert.equal(last().signature?.reason, 'digest')
      return
    }
    assert.equal(answer.status, 200)
    assert.equal(last().signature?.digest, 'unchecked')
  })

  test(`${name}: a session for another agent than the signature's is a conflict`, async (t) => {
    const { registry } = signer
    const sessions = agentSignIn({ registry, audience: SHOP, secret: 's'.repeat(32) })
    const { url, last } = await site(t, { sessions })
    const other = await signingAgent(service)
    const sessionOf = async ({ agent }: typeof signer) =>
      (await sessions.complete(await agent.answer(await sessions.begin(), { audience: SHOP })))
        .token
    const withSession = async (token: string) =>
      signer.agent.sign(SHOP, { headers: { authorization: `Bearer ${token}` } })
    assert.equal((await send(url, await withSession(await sessionOf(signer)))).status, 200)
    assert.equal(last().proof, 'signature')
    assert.equal((await send(url, await withSession(await sessionOf(other)))).status, 401)
    assert.deepEqual([last().reasons[0].code, last().proof], ['identification-conflict', 'none'])
    // An invalid signature does not fall back to the session.
    const good = await withSession(await sessionOf(signer))
    assert.equal((await send(url, good, { target: '/elsewhere' })).status, 401)
    assert.equal(last().proof, 'none')
  })
}

const start = FRAMEWORKS.Express as NonNullable<(typeof FRAMEWORKS)[string]>

async function express(t: Cleanup, options: Partial<GatewayOptions> = {}) {
  const decisions: Decision[] = []
  const url = await start(t, {
    service: service.url,
    timeoutMs: 30_000,
    audiences: [SHOP],
    tlsTerminated: true,
    nonces: olderNonceStore(),
    onDecision: (decision) => decisions.push(decision),
    ...options,
  })
  return { url, last: () => decisions.at(-1) as Decision }
}

test('without audiences a signature proves nothing, and the header counts as before', async (t) => {
  const { url, last } = await express(t, { audiences: [] })
  assert.equal((await send(url, await signer.agent.sign(SHOP))).status, 200)
  assert.deepEqual([last().proof, last().signature?.reason], ['none', 'no-audience'])
})

test('over plain http a signature for an https site is refused', async (t) => {
  const { url, last } = await express(t, { tlsTerminated: false })
  assert.equal((await send(url, await signer.agent.sign(SHOP))).status, 401)
  assert.equal(last().signature?.reason, 'insecure')
})

test('a repeated Authorization header is refused', async (t) => {
  const { url, last } = await express(t)
  const request = await signer.agent.sign(SHOP, { headers: { authorization: 'Bearer a' } })
  const headers = { authorization: ['Bearer a', 'Bearer b'] }
  assert.equal((await send(url, request, { headers })).status, 401)
  assert.equal(last().signature?.reason, 'malformed')
})

test('a revoked agent is refused by the policy, with its nonce unused', async (t) => {
  const revoked = await signingAgent(service)
  const { url, last } = await express(t, { policy: { requireProof: true, cacheSeconds: 0 } })
  assert.equal((await send(url, await revoked.agent.sign(SHOP))).status, 200)
  const request = await revoked.agent.sign(SHOP)
  await setStatus(service, revoked.did, 'revoked')
  assert.equal((await send(url, request)).status, 403)
  assert.deepEqual([last().reasons[0].code, last().proof], ['status-refused', 'signature'])
})

test('a store that cannot tell: safe methods pass, others are asked to come back', async (t) => {
  const nonces = { record: () => Promise.reject(new Error('down')) }
  const { url, last } = await express(t, { nonces, policy: { requireProof: true } })
  assert.equal((await send(url, await signer.agent.sign(SHOP))).status, 200)
  assert.equal(last().signature?.replay, 'unchecked')
  const answer = await send(url, await order())
  assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '5'])
  assert.equal(last().signature?.reason, 'replay-unchecked')
  assert.deepEqual(codesOf(last()), ['replay-unchecked', 'proof-required'])
  assert.doesNotMatch(String(answer.headers['accept-signature']), /nonce/)
})

test('whatever refuses a request with a valid signature, it is not said to have only a header', async (t) => {
  const down = { record: () => Promise.reject(new Error('down')) }
  const missing = { record: () => 'unchecked' as const, retryAfterSeconds: () => null }
  for (const [nonces, code] of [
    [down, 'replay-unchecked'],
    [missing, 'no-nonce-store'],
  ] as const) {
    const levels = { verified: 'deny', unverified: 'deny' } as const
    const { url, last } = await express(t, { nonces, policy: { levels } })
    assert.equal((await send(url, await order())).status, 403)
    assert.deepEqual(codesOf(last()), ['owner-verified', 'signature-proven'])
    const strict = await express(t, { nonces, policy: { requireProof: true } })
    assert.equal((await send(strict.url, await order())).status, 503)
    assert.deepEqual(codesOf(strict.last()), [code, 'proof-required'])
    // Without proof it is admitted as one who only names itself.
    const open = await express(t, { nonces, policy: {} })
    assert.equal((await send(open.url, await order())).status, 200)
    assert.deepEqual(codesOf(open.last()), ['owner-verified', code])
    assert.equal(open.last().proof, 'none')
  }
})

const codesOf = ({ reasons }: Decision) => reasons.map(({ code }) => code)

test('while the service is out of reach, a signature that needs it is answered with 503', async (t) => {
  const { url, last } = await express(t, {
    service: 'http://127.0.0.1:1',
    issuer: service.url,
    policy: { requireProof: true, levels: { none: 'deny' } },
  })
  const request = await signer.agent.sign(SHOP)
  const answer = await send(url, request)
  assert.equal(answer.status, 503)
  assert.equal(last().signature?.reason, 'directory-unavailable')
})

test('shadow mode reports what would happen and refuses nothing', async (t) => {
  const policy = { mode: 'shadow', requireProof: true } as const
  const { url, last } = await express(t, { policy })
  assert.equal(
    (await send(url, await signer.agent.sign(`${SHOP}/a`), { target: '/b' })).status,
    200,
  )
  assert.deepEqual(
    [last().action, last().proof, last().refusal?.status, last().signature?.reason],
    ['deny', 'none', 401, 'bad-signature'],
  )
  assert.equal((await send(url, await signer.agent.sign(SHOP))).status, 200)
  assert.deepEqual([last().action, last().proof], ['allow', 'signature'])
})
