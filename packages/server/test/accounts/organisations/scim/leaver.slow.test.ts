import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { jsonOf } from '../../../../../../test/support/answer.ts'
import { ask } from '../../../../../../test/support/ask.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { createOrganisation, type Member } from '../../../../../../test/support/organisations.ts'
import { verifyBody } from '../../../../../../test/support/refused-posts.ts'
import { connectDirectory } from '../../../../../../test/support/scim.ts'
import {
  claimAgent,
  postJson,
  startTestService,
  type TestService,
} from '../../../../../../test/support/service.ts'
import { withCookie } from '../../../../../../test/support/signed-in.ts'
import { insertSession } from '../../../../src/accounts/owners/session-table.ts'
import { hashToken } from '../../../../src/base/hash-token.ts'
import { Cookies } from '../../../../src/http/cookies.ts'

const AGENTS = '/api/account/agents'

/** Something that a leaver has, and what it does: a status, or a word. */
interface Possession {
  readonly name: string
  readonly before: string
  readonly after: string
  use(): Promise<string>
}

/** A session that the identity provider of an organisation started. */
async function limitedSession(
  { operator, settings, ...service }: TestService,
  { self }: Member,
  orgId: number,
) {
  const token = randomBytes(32).toString('base64url')
  const at = Date.now()
  await operator.db.write((tx) =>
    insertSession(tx, {
      hash: hashToken(token),
      id: 'limited',
      owner_id: self.ownerId,
      method: 'provider',
      browser: 'a test',
      signed_in_at: at,
      last_seen_at: at,
      expires_at: at + 3_600_000,
      passkey_id: null,
      provider: 'sso:test',
      limited_to: orgId,
    }),
  )
  const cookie = `${new Cookies(settings.baseUrl.origin).name('session')}=${token}`
  return withCookie({ operator, settings, ...service } as TestService, self.ownerId, cookie)
}

test('a leaver’s drill: one request of SCIM, and then nothing of theirs acts for the organisation', async (t: TestContext) => {
  const service = await startTestService(t)
  const acme = await createOrganisation(service)
  await acme.verify()
  const directory = await connectDirectory(service, acme)
  const grace = await acme.addMember('grace', 'manager')
  const user = await directory.addLinked(grace)
  const key = newKey()
  const did = await claimAgent(service, acme.id, key)
  const limited = await limitedSession(service, grace, acme.id)
  const body = { name: 'CI', scopes: ['agents:read', 'agents:status'] }
  const { secret } = jsonOf<{ secret: string }>(await grace.post('/api/account/api-keys', body))
  const status = async (answer: Promise<{ readonly status: number }>) =>
    String((await answer).status)

  const stream = await fetch(`${service.url}/api/account/stream?organisation=acme`, {
    headers: { cookie: grace.self.cookie },
  })
  let streaming = 'open'
  const closed = (async () => {
    for await (const _ of stream.body as unknown as AsyncIterable<unknown>);
    streaming = 'closed'
  })()

  const possessions: readonly Possession[] = [
    {
      name: 'session, reads for the organisation',
      before: '200',
      after: '404',
      use: () => status(grace.get(AGENTS)),
    },
    {
      name: 'session, creates a claim token',
      before: '201',
      after: '404',
      use: () => status(grace.post('/api/agents/token')),
    },
    {
      name: 'session by single sign-on',
      before: '200',
      after: '401',
      use: () => status(limited.get(AGENTS)),
    },
    {
      name: 'API key, reads',
      before: '200',
      after: '401',
      use: () =>
        status(fetch(service.url + AGENTS, { headers: { authorization: `Bearer ${secret}` } })),
    },
    {
      name: 'stream of events',
      before: 'open',
      after: 'closed',
      use: async () => streaming,
    },
    {
      name: 'session, reads their own account',
      before: '200',
      after: '200',
      use: () => status(grace.self.get(AGENTS)),
    },
    {
      name: 'agent of the organisation, lookup',
      before: 'active',
      after: 'active',
      use: async () => String(jsonOf(await ask(service, `/api/agents/${did}`)).status),
    },
    {
      name: 'agent of the organisation, proves itself',
      before: 'true',
      after: 'true',
      use: async () => {
        const response = await postJson(`${service.url}/api/v1/agent/verify`, verifyBody(key))
        return String(((await response.json()) as { verified: boolean }).verified)
      },
    },
    {
      name: 'admin, reads for the organisation',
      before: '200',
      after: '200',
      use: () => status(acme.admin.get(AGENTS)),
    },
  ]
  for (const each of possessions) assert.equal(await each.use(), each.before, each.name)

  const began = performance.now()
  const ended = await directory.deactivate(user)
  assert.equal(ended.status, 200, ended.text)
  const answered = performance.now()
  t.diagnostic(`SCIM active false: answered after ${(answered - began).toFixed(0)} ms`)
  const report = (name: string, before: string, after: string) => {
    const time = (performance.now() - answered).toFixed(0)
    t.diagnostic(`${name.padEnd(42)} ${before} → ${after}, seen ${time} ms after the answer`)
  }
  for (const { name, before, after, use } of possessions) {
    if (after === 'closed') continue
    const now = await use()
    report(name, before, now)
    assert.equal(now, after, name)
  }
  await closed
  report('stream of events', 'open', streaming)
})
