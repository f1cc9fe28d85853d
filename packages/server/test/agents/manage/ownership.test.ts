import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, assertRefused } from '../../../../../test/support/answer.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { unchanged } from '../../../../../test/support/database-digest.ts'
import type { TestService } from '../../../../../test/support/service.ts'
import { AGENTS, newOwner, startWithAgent } from './with-agent.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
  'base64',
)

/** Every request about one of an owner's agents. */
const ABOUT_ONE: readonly (readonly [string, string, (object | Buffer)?])[] = [
  ['GET', ''],
  ['PATCH', '', { displayName: 'Taken over' }],
  ['PUT', '/avatar', PNG],
  ['DELETE', '/avatar'],
  ['POST', '/suspend', {}],
  ['POST', '/reactivate', {}],
  ['POST', '/revoke', { reason: 'mine_now' }],
  ['GET', '/history'],
]

type Body = object | Buffer | undefined

function send(
  service: TestService,
  headers: Record<string, string>,
  [method, target, body]: readonly [string, string, Body],
): Promise<Answer> {
  if (body === undefined) return ask(service, target, { method, headers })
  const picture = Buffer.isBuffer(body)
  const type = picture ? 'image/png' : 'application/json'
  return ask(service, target, {
    method,
    headers: { ...headers, 'content-type': type },
    body: picture ? new Uint8Array(body) : JSON.stringify(body),
  })
}

function withoutId({ status, text }: Answer): [number, string] {
  return [status, text.replace(/req_\w+/, 'req_')]
}

test("every request about another owner's agent gets the response for an unknown agent", async (t) => {
  const { service, did } = await startWithAgent(t)
  const { origin } = service.settings.baseUrl
  const { cookie } = await newOwner(service)
  for (const [method, path, body] of ABOUT_ONE) {
    await t.test(`${method} ${path}`, async () => {
      const about = (agent: string) =>
        send(service, { cookie, origin }, [method, `${AGENTS}/${agent}${path}`, body])
      const answer = await unchanged(service, () => about(did))
      assertRefused(answer, 404, 'NOT_FOUND')
      assert.deepEqual(withoutId(await about(did.slice(-24))), withoutId(answer))
      const unknown = await about(`svc:agent:${'1'.repeat(24)}`)
      assert.deepEqual(withoutId(unknown), withoutId(answer), 'nothing tells the two apart')
      for (const malformed of [
        'x',
        '0'.repeat(24),
        `${did}1`,
        'acme:agent:'.concat('1'.repeat(24)),
      ]) {
        assertRefused(await about(malformed), 400, 'VALIDATION_ERROR')
      }
    })
  }
})

test("every request works for the owner's agent, by DID and by tail", async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const { origin } = service.settings.baseUrl
  for (const [method, path, body] of ABOUT_ONE) {
    for (const agent of [did, did.slice(-24), encodeURIComponent(did)]) {
      const target = `${AGENTS}/${agent}${path}`
      const answer = await send(service, { cookie: owner.cookie, origin }, [method, target, body])
      assert.notEqual(answer.status, 404, `${method} ${path}`)
    }
  }
})

test('every request needs a session', async (t) => {
  const { service, did } = await startWithAgent(t)
  const others = [
    ['GET', AGENTS],
    ['GET', '/api/account/stream'],
    ['POST', `${AGENTS}/revoke-all`, { username: 'ada' }],
    ['POST', `${AGENTS}/status`, { agents: [did], status: 'revoked' }],
    ['POST', '/api/account/deletion', { username: 'ada' }],
    ['GET', '/api/account/export'],
  ] as const
  const all = [
    ...ABOUT_ONE.map(([method, path, body]) => [method, `${AGENTS}/${did}${path}`, body] as const),
    ...others.map(([method, target, body]) => [method, target, body] as const),
  ]
  for (const each of all) {
    const answer = await unchanged(service, () => send(service, {}, each))
    assertRefused(answer, 401, 'UNAUTHENTICATED')
    const forged = { cookie: `countersign-session-${service.env.PORT}=${'A'.repeat(43)}` }
    assertRefused(await send(service, forged, each), 401, 'UNAUTHENTICATED')
  }
})

test('requests from another site change nothing', async (t) => {
  const { service, owner, did } = await startWithAgent(t)
  const writing = [
    ...ABOUT_ONE.map(([method, path, body]) => [method, `${AGENTS}/${did}${path}`, body] as const),
    ['POST', `${AGENTS}/revoke-all`, { username: 'ada' }] as const,
    ['POST', `${AGENTS}/status`, { agents: [did], status: 'revoked' }] as const,
    ['POST', '/api/account/deletion', { username: 'ada' }] as const,
  ].filter(([method]) => method !== 'GET')
  const elsewhere = [
    { origin: 'https://elsewhere.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: service.settings.baseUrl.origin },
  ]
  for (const each of writing) {
    for (const headers of elsewhere) {
      const forged = { cookie: owner.cookie, ...(headers as Record<string, string>) }
      const answer = await unchanged(service, () => send(service, forged, each))
      assertRefused(answer, 403, 'FORBIDDEN')
    }
  }
})
