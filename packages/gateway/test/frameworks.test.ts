import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { type Agents, claimAgents } from '../../../test/support/agents.ts'
import { jsonOf } from '../../../test/support/answer.ts'
import { fileCleanup } from '../../../test/support/file-cleanup.ts'
import { sendRaw } from '../../../test/support/raw-http.ts'
import { type Cleanup, startTestService, type TestService } from '../../../test/support/service.ts'
import type { Decision, Refused } from '../src/decision/decision.ts'
import type { GatewayOptions } from '../src/options.ts'
import { FRAMEWORKS, type OwnRefusal, type Seen } from './support/frameworks.ts'

let service: TestService
let agents: Agents
const cleanup = fileCleanup()

before(async () => {
  service = await startTestService(cleanup)
  agents = await claimAgents(service)
})
const FORGED = {
  'X-ServiceID-Decision': 'allow',
  'x-serviceid-verified': 'true',
  'X-ServiceID-Proof': 'signature',
  x_serviceid_proof: 'signature',
  X_ServiceID_DID: 'svc:agent:forged',
  'X-SERVICEID_Status': 'forged',
  'X-ServiceID-Identity-Level': 'forged',
  'X-ServiceID-Issuer': 'https://forged.example',
  'X.ServiceID.Extra': 'forged',
}

async function ask(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  init: RequestInit = {},
) {
  const response = await fetch(url, { ...init, headers, redirect: 'manual' })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** The request as the application received it. */
async function seen(url: string, headers: Readonly<Record<string, string>>): Promise<Seen> {
  const answer = await ask(url, headers)
  assert.equal(answer.status, 200, answer.text)
  return JSON.parse(answer.text)
}

/** The identity headers that the application received, checked to be equal in every place where it can read them. */
function forwardedHeaders({ fields }: Seen): Record<string, string> {
  const identity = fields.filter(([name]) => /^x.serviceid/i.test(name))
  for (const [name, value] of identity) {
    assert.ok(
      identity.every((each) => each[0] !== name || each[1] === value),
      `${name} has two values`,
    )
  }
  return Object.fromEntries(identity)
}

for (const [name, start] of Object.entries(FRAMEWORKS)) {
  const site = (t: Cleanup, options: Partial<GatewayOptions> = {}, refusal?: OwnRefusal | null) =>
    // Long enough for a busy machine.
    start(t, { service: service.url, timeoutMs: 30_000, ...options }, refusal)

  test(`${name}: a verified agent is admitted, and the application gets the forwarded headers`, async (t) => {
    const url = await site(t)
    const did = agents.verified
    for (const identification of [did, did.slice(-24)]) {
      const reached = await seen(`${url}/x?y=z`, { ServiceID: identification, ...FORGED })
      assert.deepEqual(forwardedHeaders(reached), {
        'x-serviceid-decision': 'allow',
        'x-serviceid-verified': 'true',
        'x-serviceid-proof': 'none',
        'x-serviceid-did': did,
        'x-serviceid-status': 'active',
        'x-serviceid-identity-level': 'in-person',
        'x-serviceid-issuer': service.url,
      })
    }
    const { agent } = await seen(url, { ServiceID: did })
    assert.deepEqual(agent, {
      action: 'allow',
      admitted: true,
      mode: 'enforce',
      level: 'verified',
      reasons: agent.reasons,
      refusal: null,
      did,
      status: 'active',
      verified: true,
      identityLevel: 'in-person',
      directory: null,
      grade: null,
      issuer: service.url,
      source: 'cache',
      statusAgeSeconds: 5,
      proof: 'none',
      proofOfPossession: false,
      signature: null,
      delegation: null,
      approval: null,
    })
    assert.deepEqual(codesOf(agent), ['owner-verified', 'header-only'])
    assert.match(agent.reasons[1]?.message ?? '', /does not prove possession of the agent's key/)
  })

  test(`${name}: a refusal is an error envelope with the right Vary header`, async (t) => {
    const url = await site(t)
    const refusals: [Record<string, string>, number, string, string][] = [
      [{}, 401, 'UNAUTHENTICATED', 'no-identification'],
      [{ ServiceID: 'nonsense' }, 401, 'UNAUTHENTICATED', 'identification-unreadable'],
      [{ ServiceID: agents.unknown }, 403, 'FORBIDDEN', 'agent-unknown'],
      [{ ServiceID: agents.suspended }, 403, 'FORBIDDEN', 'status-refused'],
      [{ ServiceID: agents.revoked }, 403, 'FORBIDDEN', 'status-refused'],
    ]
    for (const [headers, status, code, reason] of refusals) {
      const answer = await ask(url, { ...FORGED, ...headers })
      assert.equal(answer.status, status, answer.text)
      const { error } = jsonOf<{ error: Record<string, unknown> }>(answer)
      assert.deepEqual(Object.keys(error), ['code', 'message', 'requestId', 'reasons'])
      assert.equal(error.code, code)
      assert.match(String(error.requestId), /^req_[0-9a-f]{32}$/)
      assert.equal((error.reasons as string[])[0], reason)
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      assert.deepEqual(varyOf(answer), ['serviceid', 'accept'])
      assert.equal(answer.headers.get('www-authenticate'), status === 401 ? 'ServiceID' : null)
    }
  })

  test(`${name}: the policy sets the status and the message of a refusal, and 404 hides the reasons`, async (t) => {
    const url = await site(t, {
      policy: {
        limit: { requests: 1, seconds: 3600 },
        refusal: { status: 402, message: 'Buy a licence at https://shop.example/<licences>.' },
        routes: [
          { path: '/hidden/*', refusal: { status: 404 } },
          { path: '/plain/*', refusal: { message: 'No.' } },
        ],
      },
    })
    const error = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await ask(url + path, headers)
      const { error: found } = jsonOf<{ error: Record<string, unknown> }>(answer)
      return [answer.status, found.code, found.message, found.reasons]
    }
    const message = 'Buy a licence at https://shop.example/<licences>.'
    assert.deepEqual(await error('/x'), [402, 'FORBIDDEN', message, ['no-identification']])
    const [status, , , reasons] = await error('/x', { ServiceID: agents.revoked })
    assert.deepEqual([status, (reasons as string[])[0]], [402, 'status-refused'])
    assert.deepEqual(await error('/hidden/x'), [
      404,
      'NOT_FOUND',
      'There is nothing at this address.',
      undefined,
    ])
    assert.deepEqual(await error('/plain/x'), [
      401,
      'UNAUTHENTICATED',
      'No.',
      ['no-identification'],
    ])
    // The strictest of all rules, of which the first one refuses with 404.
    assert.equal((await error('/%68idden/x'))[0], 404)
    const page = await ask(url, { accept: 'text/html' })
    assert.match(page.text, /<title>Payment required<[\s\S]*shop\.example\/&#60;licences&#62;/)
    await seen(url, { ServiceID: agents.unverified })
    assert.equal((await error('/x', { ServiceID: agents.unverified }))[0], 429)
  })

  test(`${name}: onRefused answers refused requests, and the gateway answers if it fails`, async (t) => {
    const own = {
      status: 418,
      text: ({ decision, status }: Refused) => `${status} ${decision.reasons[0].code}`,
    }
    const url = await site(t, {}, own)
    const answer = await ask(url, { ServiceID: agents.revoked })
    assert.deepEqual([answer.status, answer.text], [418, '403 status-refused'])
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.ok(varyOf(answer).includes('serviceid'))
    assert.doesNotMatch(answer.headers.get('content-type') ?? '', /json/)
    assert.equal((await ask(url)).text, '401 no-identification')
    await seen(url, { ServiceID: agents.verified })
    const failing = await ask(await site(t, {}, null), { ServiceID: agents.revoked })
    assert.equal(failing.status, 403)
    assert.equal(jsonOf<{ error: { code: string } }>(failing).error.code, 'FORBIDDEN')
  })

  test(`${name}: repeated, empty, huge and malformed identification headers are refused, and padding is ignored`, async (t) => {
    const url = await site(t)
    const { verified, revoked } = agents
    const lines = [
      `ServiceID: ${verified}\r\nServiceID: ${verified}`,
      `ServiceID: ${verified}\r\nserviceid: ${revoked}`,
      `ServiceID: ${verified}, ${verified}`,
      'ServiceID:',
      'ServiceID: \t ',
      `ServiceID: ${'A'.repeat(10_000)}`,
      `ServiceID: ${verified}\u00ff`,
      `ServiceID: svc:agent:${verified}`,
      `ServiceID: ${verified.toUpperCase()}`,
      `ServiceID: ${encodeURIComponent(verified)}`,
    ]
    for (const line of lines) {
      const request = `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${line}\r\n\r\n`
      const { answers } = await sendRaw(url, request)
      assert.equal(answers[0]?.status, 401, `${line.slice(0, 60)} ${answers[0]?.text}`)
    }
    const padded = `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nsErViCeId: \t${verified} \r\n\r\n`
    const { answers } = await sendRaw(url, padded)
    assert.equal(answers[0]?.status, 200, answers[0]?.text)
  })

  test(`${name}: identity headers sent by a client never reach the application, in any spelling`, async (t) => {
    const url = await site(t, { policy: { mode: 'shadow' } })
    const separator = fc.constantFrom(...'-_.!~')
    const word = fc.mixedCase(fc.constant('x?serviceid?'))
    const rest = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)
    const names = fc
      .tuple(word, separator, separator, rest)
      .map(([each, a, b, end]) => each.replace('?', a).replace('?', b) + end)
    await fc.assert(
      fc.asyncProperty(fc.array(names, { minLength: 1, maxLength: 6 }), async (forged) => {
        const lines = forged.map((each) => `${each}: forged\r\n`).join('')
        const request = `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`
        const { answers } = await sendRaw(url, request)
        assert.equal(answers[0]?.status, 200, answers[0]?.text)
        assert.ok(!answers[0].text.includes('forged'), `${forged} ${answers[0].text}`)
        assert.deepEqual(forwardedHeaders(JSON.parse(answers[0].text)), {
          'x-serviceid-decision': 'shadow-deny',
          'x-serviceid-verified': 'false',
          'x-serviceid-proof': 'none',
        })
      }),
      { numRuns: 40 },
    )
  })

  test(`${name}: an unverified agent is rate limited and gets a Retry-After header`, async (t) => {
    const url = await site(t, { policy: { limit: { requests: 2, seconds: 3600 } } })
    const headers = { ServiceID: agents.unverified }
    const { agent } = await seen(url, headers)
    assert.deepEqual([agent.action, agent.level, agent.admitted], ['limit', 'unverified', true])
    await seen(url, headers)
    const answer = await ask(url, headers)
    assert.equal(answer.status, 429)
    const wait = Number(answer.headers.get('retry-after'))
    assert.ok(wait > 1700 && wait <= 1800, String(wait))
    const { error } = jsonOf<{ error: { code: string; reasons: string[] } }>(answer)
    assert.deepEqual([error.code, error.reasons[0]], ['RATE_LIMITED', 'over-limit'])
    await seen(url, { ServiceID: agents.verified })
  })

  test(`${name}: shadow mode refuses nothing, removes forged headers and reports the decision`, async (t) => {
    const decisions: Decision[] = []
    const url = await site(t, {
      policy: { mode: 'shadow', limit: { requests: 1, seconds: 3600 } },
      onDecision: (decision) => void decisions.push(decision),
    })
    const { unverified, revoked, unknown } = agents
    for (const did of [unverified, unverified, revoked, unknown, 'nonsense']) {
      const reached = await seen(url, { ServiceID: did, ...FORGED })
      assert.equal(reached.agent.admitted, true)
      const decision = reached.fields.filter(([each]) => each === 'x-serviceid-decision')
      assert.equal(decision[0]?.[1], `shadow-${reached.agent.action}`)
      assert.ok(!JSON.stringify(reached.fields).includes('forged'))
    }
    assert.deepEqual(
      decisions.map(({ action, refusal, mode }) => [action, refusal?.status ?? null, mode]),
      [
        ['limit', null, 'shadow'],
        ['deny', 429, 'shadow'],
        ['deny', 403, 'shadow'],
        ['deny', 403, 'shadow'],
        ['deny', 401, 'shadow'],
      ],
    )
  })

  test(`${name}: a browser gets an HTML page with escaped text and a strict CSP`, async (t) => {
    const url = await site(t)
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
    const answer = await ask(url, { accept, ServiceID: '<script>alert(1)</script>' })
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(answer.headers.get('content-security-policy'), "default-src 'none'")
    assert.match(answer.text, /^<!doctype html>\n<html lang="en">/)
    assert.ok(!answer.text.includes('<script'))
    for (const other of ['*/*', 'application/json, text/html', 'text/plain']) {
      assert.match((await ask(url, { accept: other })).text, /^\{"error"/)
    }
  })

  test(`${name}: a CORS preflight passes, unless the policy says otherwise`, async (t) => {
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' }
    const options = { method: 'OPTIONS' }
    const open = await site(t)
    const answer = await ask(open, { ...headers, ...FORGED }, options)
    assert.equal(answer.status, 200, answer.text)
    const reached = JSON.parse(answer.text) as Seen
    assert.deepEqual(codesOf(reached.agent), ['preflight'])
    assert.deepEqual(forwardedHeaders(reached), {
      'x-serviceid-decision': 'allow',
      'x-serviceid-verified': 'false',
      'x-serviceid-proof': 'none',
    })
    assert.equal((await ask(open, {}, options)).status, 401)
    assert.equal((await ask(open, { origin: 'https://a.example' }, options)).status, 401)
    const strict = await site(t, { policy: { preflight: 'decide' } })
    assert.equal((await ask(strict, headers, options)).status, 401)
  })

  test(`${name}: a route's rules apply by path and method`, async (t) => {
    const url = await site(t, {
      policy: {
        levels: { none: 'allow' },
        routes: [{ path: '/admin/*', levels: { none: 'deny' } }],
      },
    })
    assert.equal((await ask(`${url}/open`)).status, 200)
    assert.equal((await ask(`${url}/Admin/x`)).status, 401)
    assert.equal((await ask(`${url}/%61dmin/x`)).status, 401)
    assert.equal((await ask(`${url}/open?path=/admin/x`)).status, 200)
  })

  test(`${name}: every response has a Vary header that includes the application's own`, async (t) => {
    const url = await site(t)
    const headers = { ServiceID: agents.verified }
    assert.deepEqual(varyOf(await ask(url, headers)), ['serviceid'])
    assert.deepEqual(varyOf(await ask(`${url}/vary`, headers)).sort(), [
      'accept-language',
      'serviceid',
    ])
  })

  test(`${name}: request bodies pass unchanged, and errors of the application are not changed`, async (t) => {
    const url = await site(t)
    const headers = { ServiceID: agents.verified, 'content-type': 'text/plain' }
    const answer = await ask(url, headers, { method: 'POST', body: 'a body' })
    assert.equal((JSON.parse(answer.text) as Seen).body, 'a body')
    assert.equal((await ask(`${url}/fail`, headers)).status, 500)
    assert.equal(
      (await ask(url, { ServiceID: agents.revoked }, { method: 'POST', body: 'x'.repeat(100_000) }))
        .status,
      403,
    )
  })

  test(`${name}: an onDecision that throws or rejects affects no request`, async (t) => {
    for (const fail of [
      () => {
        throw new Error('at once')
      },
      () => Promise.reject(new Error('later')),
    ]) {
      const url = await site(t, { onDecision: fail })
      assert.equal((await ask(url, { ServiceID: agents.verified })).status, 200)
      assert.equal((await ask(url)).status, 401)
    }
  })

  test(`${name}: onDecision gets the method, the address, and the path without its query`, async (t) => {
    const requests: unknown[] = []
    const url = await site(t, { onDecision: (_, request) => void requests.push(request) })
    await ask(`${url}/a/b?secret=1`, { ServiceID: agents.verified }, { method: 'PUT' })
    const address = name === 'fetch' ? null : '127.0.0.1'
    assert.deepEqual(requests, [{ method: 'PUT', path: '/a/b', address }])
  })
}

function codesOf({ reasons }: Decision): string[] {
  return reasons.map(({ code }) => code)
}

function varyOf({ headers }: { headers: Headers }): string[] {
  return (headers.get('vary') ?? '').toLowerCase().split(/, */)
}
