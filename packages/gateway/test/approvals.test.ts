import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TOKEN_TYPES } from '@countersign/protocol'
import {
  type ApprovalChanges,
  approvalToken,
  BODY,
  JSON_TYPE,
  PURCHASE,
} from '../../../test/support/approval-token.ts'
import type { Cleanup } from '../../../test/support/service.ts'
import { PolicyError } from '../src/index.ts'
import type { GatewayOptions } from '../src/options.ts'
import type { PolicyInput } from '../src/policy/policy.ts'
import { NEEDS_APPROVAL, withApproval } from './support/approvals.ts'
import { FRAMEWORKS, type Seen, type StartApp } from './support/frameworks.ts'
import { startIssuerSite } from './support/issuer-site.ts'
import { type OfflineAgent, offlineAgent, PROVEN, startOfflineSite } from './support/offline.ts'
import { foreignSigner, olderNonceStore, SHOP, send } from './support/signing.ts'

/** A site that trusts an issuer, and an agent of it. */
async function shop(
  t: Cleanup,
  policy: PolicyInput = NEEDS_APPROVAL,
  options: Partial<GatewayOptions> = {},
) {
  const issuer = await startIssuerSite(t)
  const site = startOfflineSite(t, [issuer], { policy, ...options })
  const agent = offlineAgent(issuer.origin)
  const certificate = await issuer.issuer.certificate(agent)
  await issuer.untilFollowed()
  const approve = (changes: ApprovalChanges = {}) =>
    approvalToken(issuer.issuer, agent.did, changes)
  /** The status and the deciding reason. */
  const visit = async (
    approval: string | null,
    init?: Parameters<typeof withApproval>[3],
    by: OfflineAgent = agent,
  ) => {
    const own = by === agent ? certificate : await issuer.issuer.certificate(by)
    const request = await withApproval(by, { certificate: own }, approval, init)
    const { status, reasons, decision } = await site.send(request)
    return { outcome: [status, reasons[0]], decision, request }
  }
  return { issuer, site, agent, certificate, approve, visit }
}

const ADMITTED = [200, 'owner-verified']

for (const [name, start] of Object.entries(FRAMEWORKS)) {
  test(`${name}: an approved request is admitted once, and the site learns which approval it was`, async (t) => {
    const { issuer, agent, certificate, approve } = await shop(t)
    const seesBody = name === 'Hono' || name === 'fetch'
    const options = (approval: object): GatewayOptions => ({
      service: issuer.origin,
      audiences: [SHOP],
      tlsTerminated: true,
      nonces: olderNonceStore(),
      timeoutMs: 30_000,
      policy: {
        ...PROVEN,
        trust: [{ issuer: issuer.origin, didPrefix: 'svc:agent:' }],
        routes: [{ path: '/orders', approval }],
      },
    })
    const url = await (start as StartApp)(t, options({ bodyCheckedByApplication: !seesBody }))
    const headers = { 'X-ServiceID-Approval': 'ap_forged', x_serviceid_approval: 'ap_forged' }
    const token = await approve({ jti: `ap_${'A'.repeat(22)}` })
    const request = () => withApproval(agent, { certificate }, token)
    const answer = await send(url, await request(), { headers })
    assert.equal(answer.status, 200, answer.text)
    const { agent: decision, fields, body } = JSON.parse(answer.text) as Seen
    assert.equal(body === BODY || JSON.stringify(body) === BODY, true)
    const { at, expiresAt, ...approval } = decision.approval ?? assert.fail('no approval')
    assert.deepEqual(approval, { id: `ap_${'A'.repeat(22)}`, by: 'passkey' })
    assert.equal(expiresAt - at, 600_000)
    assert.deepEqual(approvalsIn(fields), [approval.id])

    const again = await send(url, await request(), { headers })
    assert.equal(again.status, 403)
    assert.equal(JSON.parse(again.text).error.reasons[0], 'approval-used')
    const other = await withApproval(agent, { certificate }, null, { url: `${SHOP}/other` })
    const seen = JSON.parse((await send(url, other, { headers })).text) as Seen
    assert.deepEqual([seen.agent.approval, approvalsIn(seen.fields)], [null, []])

    if (name === 'Fastify') {
      const config = () => (start as StartApp)(t, options({}))
      await assert.rejects(async () => config(), PolicyError)
    } else if (!seesBody) {
      const blind = await (start as StartApp)(t, options({}))
      const unseen = await withApproval(agent, { certificate }, await approve())
      const refused = await send(blind, unseen)
      assert.equal(JSON.parse(refused.text).error.reasons[0], 'approval-mismatch')
    }
  })
}

/** What the application sees of the header for approvals, by any of its names. */
function approvalsIn(fields: Seen['fields']): string[] {
  const values = fields.filter(([field]) => /^x.serviceid.approval$/i.test(field))
  return [...new Set(values.map(([, value]) => value))]
}

test('what differs from the approved request in one byte is refused, and uses nothing up', async (t) => {
  const everywhere: PolicyInput = { approval: {} }
  const { approve, visit, issuer } = await shop(t, everywhere)
  const token = await approve()
  const other = offlineAgent(issuer.origin, 1)
  const typed = (type: string) => ({ ...PURCHASE, headers: { 'content-type': type } })
  const changed: Record<string, Parameters<typeof visit>[1]> = {
    'another amount': { ...PURCHASE, body: BODY.replace('129', '999') },
    'the same value in other bytes': { ...PURCHASE, body: BODY.replace(',', ', ') },
    'another path': { ...PURCHASE, url: `${SHOP}/orders/` },
    'a query': { ...PURCHASE, url: `${SHOP}/orders?to=me` },
    'an empty query': { ...PURCHASE, url: `${SHOP}/Orders` },
    'another method': { ...PURCHASE, method: 'PUT' },
    'another content type': typed('text/json'),
    'another charset': typed(`${JSON_TYPE}; charset=utf-16`),
    'a parameter of the content type': typed(`${JSON_TYPE}; charset=utf-8; profile=x`),
    'a content coding': {
      ...PURCHASE,
      headers: { 'content-type': JSON_TYPE, 'content-encoding': 'identity' },
    },
    'no body': { method: 'POST', headers: { 'content-type': JSON_TYPE } },
    'an overriding header': {
      ...PURCHASE,
      headers: { 'content-type': JSON_TYPE, 'x-http-method-override': 'PUT' },
    },
    'another path in a header': {
      ...PURCHASE,
      headers: { 'content-type': JSON_TYPE, X_Original_URL: '/admin' },
    },
  }
  for (const [what, init] of Object.entries(changed)) {
    assert.deepEqual((await visit(token, init)).outcome, [403, 'approval-mismatch'], what)
  }
  const stranger = await visit(token, PURCHASE, other)
  assert.deepEqual(stranger.outcome, [403, 'approval-mismatch'])
  const elsewhere = { aud: 'https://other.example', url: 'https://other.example/orders' }
  for (const claims of [elsewhere, { method: 'PATCH' }, { body: null }]) {
    const mismatch = await visit(await approve(claims))
    assert.deepEqual(mismatch.outcome, [403, 'approval-mismatch'], JSON.stringify(claims))
  }
  for (const type of [`${JSON_TYPE};charset=utf-8`, `${JSON_TYPE}; charset="UTF-8"`]) {
    assert.deepEqual((await visit(await approve(), typed(type))).outcome, ADMITTED, type)
  }
  assert.deepEqual((await visit(token)).outcome, ADMITTED)
  assert.deepEqual((await visit(token)).outcome, [403, 'approval-used'])
})

test('an approval without a body admits a request without one', async (t) => {
  const { approve, visit } = await shop(t, { approval: {} })
  const url = `${SHOP}/orders/4711?confirm=yes`
  for (const method of ['GET', 'DELETE', 'POST']) {
    const token = await approve({ method, url, body: null })
    if (method !== 'GET') {
      const full = await visit(token, { method, url, body: '{}' })
      assert.deepEqual(full.outcome, [403, 'approval-mismatch'], method)
    }
    assert.deepEqual((await visit(token, { method, url })).outcome, ADMITTED, method)
  }
})

test('an approval counts while it is valid, recent, and given as the rule says', async (t) => {
  const routes = [
    { path: '/orders', approval: { maxAgeSeconds: 300 } },
    { path: '/mandates', approval: { by: ['passkey', 'mandate'] as const } },
  ]
  const { approve, visit } = await shop(t, { routes })
  const rows: readonly (readonly [ApprovalChanges, unknown[]])[] = [
    [{ issuedIn: -60, seconds: 60 }, [403, 'approval-expired']],
    [{ issuedIn: -3_600, seconds: 60 }, [403, 'approval-expired']],
    [{ issuedIn: -301 }, [403, 'approval-expired']],
    [{ issuedIn: -290 }, ADMITTED],
    [{ issuedIn: 50 }, ADMITTED],
    [{ issuedIn: 90 }, [403, 'approval-invalid']],
    [{ by: 'mandate' }, [403, 'approval-required']],
  ]
  for (const [claims, expected] of rows) {
    assert.deepEqual((await visit(await approve(claims))).outcome, expected, JSON.stringify(claims))
  }
  const url = `${SHOP}/mandates`
  const mandate = await visit(await approve({ by: 'mandate', url }), { ...PURCHASE, url })
  assert.deepEqual(mandate.outcome, ADMITTED)
})

test('no other token counts in place of an approval, and none in place of a certificate', async (t) => {
  const { issuer, agent, site, certificate, approve, visit } = await shop(t)
  const token = await approve()
  const typed = (typ: string) => approvalToken(issuer.issuer, agent.did, {}, { typ })
  const invalid: Record<string, string> = {
    certificate,
    staple: await issuer.issuer.staple(agent),
    head: await issuer.head(),
    'with a disclosure mark': `${token}~`,
    'of another deployment': await approve({ sub: agent.did.replace('svc', 'acme') }),
    'of another issuer': await approve({ iss: 'https://id.other.example' }),
    'a bit of the signature': `${token.slice(0, -4)}${token.at(-4) === 'A' ? 'B' : 'A'}${token.slice(-3)}`,
    text: 'yes',
    'without an audience': await approve({ aud: undefined as never }),
    secevent: await typed('secevent+jwt'),
  }
  for (const typ of Object.values(TOKEN_TYPES)) {
    if (typ !== TOKEN_TYPES.approval) invalid[typ] = await typed(typ)
  }
  for (const [what, text] of Object.entries(invalid)) {
    assert.deepEqual((await visit(text)).outcome, [403, 'approval-invalid'], what)
  }
  const asCertificate = await withApproval(agent, { certificate: token }, token)
  assert.deepEqual((await site.send(asCertificate)).reasons, ['certificate-invalid'])
  const es256 = await approvalToken(issuer.issuer, agent.did, {}, { alg: 'ES256' })
  assert.deepEqual((await visit(es256)).outcome, ADMITTED)
})

test('an approval has to be there once, and covered by the signature', async (t) => {
  const { agent, certificate, approve, visit, site } = await shop(t)
  assert.deepEqual((await visit(null)).outcome, [403, 'approval-required'])
  const bare = await withApproval(agent, { certificate }, null)
  bare.headers.set('ServiceID-Approval', await approve())
  const uncovered = await site.send(bare)
  assert.deepEqual([uncovered.status, uncovered.decision.signature?.reason], [401, 'components'])
  const twice = await withApproval(agent, { certificate }, await approve())
  const url = await FRAMEWORKS.Express?.(t, {
    service: 'https://id.example',
    audiences: [SHOP],
    tlsTerminated: true,
  })
  const token = twice.headers.get('serviceid-approval') ?? ''
  const answer = await send(url ?? '', twice, { headers: { 'serviceid-approval': [token, token] } })
  assert.equal(JSON.parse(answer.text).error.reasons[0], 'signature-invalid')
})

test('nothing replaces an approval: neither lists nor levels, nor a session, nor the service’s silence', async (t) => {
  const open: PolicyInput = {
    requireProof: false,
    approval: {},
    allow: [offlineAgent('https://id.example').did],
    levels: { none: 'allow', unknown: 'allow', directory: 'allow', unverified: 'allow' },
    unreachable: 'allow',
    cacheSeconds: 0,
    directories: [{ url: 'https://bots.example' }],
  }
  const bot = foreignSigner({ dialect: 'ietf', url: 'https://bots.example' })
  const keys = JSON.stringify({ keys: [{ ...bot.jwk }] })
  const { agent, approve, visit, site, issuer } = await shop(t, open, {
    sessions: { session: async () => ({ did: agent.did }) },
    fetchDirectory: async () =>
      new Response(keys, {
        headers: { 'content-type': 'application/http-message-signatures-directory+json' },
      }),
  })
  const reasonsFor = async (request: Request) => {
    const { status, reasons } = await site.send(request)
    return [status, reasons[0]]
  }
  const plain = (headers: Record<string, string> = {}) =>
    new Request(`${SHOP}/orders`, {
      ...PURCHASE,
      headers: { ...headers, 'content-type': JSON_TYPE },
    })
  assert.deepEqual((await visit(null)).outcome, [403, 'approval-required'])
  assert.deepEqual(await reasonsFor(plain()), [401, 'no-identification'])
  assert.deepEqual(await reasonsFor(plain({ serviceid: 'nonsense' })), [
    401,
    'identification-unreadable',
  ])
  assert.deepEqual(await reasonsFor(await bot.sign(`${SHOP}/orders`, PURCHASE)), [
    403,
    'directory-signed',
  ])
  // By the certificate and not by the service, which has no lookup here.
  const approval = await approve()
  const named = plain({ serviceid: agent.did, 'serviceid-approval': approval })
  assert.equal((await reasonsFor(named))[0], 403)
  const session = plain({ authorization: 'Bearer abc', 'serviceid-approval': approval })
  assert.equal((await reasonsFor(session))[0], 403)
  assert.deepEqual((await visit(approval)).outcome, [200, 'allow-list'])
  await issuer.stop()
  assert.deepEqual(await reasonsFor(named), [503, 'service-unreachable'])
})
