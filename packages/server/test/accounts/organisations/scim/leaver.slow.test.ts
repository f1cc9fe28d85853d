import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { OwnerAgent, Transfers } from '@countersign/protocol'
import { type Answer, jsonOf } from '../../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../../test/support/ask.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { actingFor } from '../../../../../../test/support/organisations.ts'
import { verifyBody } from '../../../../../../test/support/refused-posts.ts'
import { openDirectory } from '../../../../../../test/support/scim.ts'
import { claimAgent, claimBody, type TestService } from '../../../../../../test/support/service.ts'
import { HOUR_MS, signInBy } from '../../../../../../test/support/sign-in-by.ts'
import { signIn } from '../../../../../../test/support/signed-in.ts'
import { recoverWith, startRecovery } from '../../../agents/keys/with-keys.ts'
import { startReceiver } from '../../../webhooks/support/receiver.ts'
import { WEBHOOKS } from '../../../webhooks/support/webhook-world.ts'
import { codeIn, linkToSso, type SsoWorld, signInBySso, startSsoWorld } from '../sso/sso-world.ts'
import { notificationsOf } from '../with-members.ts'

const AGENTS = '/api/account/agents'
const API_KEYS = '/api/account/api-keys'
const API_KEY = { name: 'CI', scopes: ['agents:read', 'agents:status'] }
const ISSUERS = '/api/account/grant-issuers'
const TRANSFERS = '/api/account/transfers'
/** How long after the answer a stream may stay open. */
const STREAM_MS = 2000

/** Something that a leaver has, and what it does: a status, or a word. */
interface Possession {
  readonly name: string
  readonly before: string
  readonly after: string
  use(): Promise<string>
}

async function status(answer: Promise<{ readonly status: number }>): Promise<string> {
  return String((await answer).status)
}

function created<T>(answer: Answer): T {
  assert.equal(answer.status, 201, answer.text)
  return jsonOf<T>(answer)
}

/** An admin of 100 hours, whose identity at the identity provider is linked to their own account. */
async function addLeaver(world: SsoWorld) {
  const { service, acme } = world
  const { membership, self } = await acme.addMember('grace', 'admin', Date.now() - 100 * HOUR_MS)
  const own = await signInBy(service, self.ownerId, Date.now)
  assert.equal(codeIn(await linkToSso(world, own, acme.username, { sub: 'grace' })), null)
  const bySso = await signInBySso(world, { sub: 'grace', groups: ['leads'] })
  assert.equal(codeIn(bySso.page), null)
  return { membership, own, admin: actingFor(own, acme.username), limited: bySso.visitor }
}

type Leaver = Awaited<ReturnType<typeof addLeaver>>

function sessions(
  service: TestService,
  { own, admin, limited }: Leaver,
  key: string,
): readonly Possession[] {
  const headers = { authorization: `Bearer ${key}` }
  return [
    {
      name: 'session, reads for the organisation',
      before: '200',
      after: '404',
      use: () => status(admin.get(AGENTS)),
    },
    {
      name: 'session, creates an API key',
      before: '201',
      after: '404',
      use: () => status(admin.post(API_KEYS, API_KEY)),
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
      use: () => status(ask(service, AGENTS, { headers })),
    },
    {
      name: 'session, reads their own account',
      before: '200',
      after: '200',
      use: () => status(own.get(AGENTS)),
    },
  ]
}

/** What the leaver has started, and would complete without a session. */
async function started(
  { service, acme }: SsoWorld,
  { admin }: Leaver,
): Promise<readonly Possession[]> {
  const issued = await admin.post('/api/agents/tokens', { count: 2 })
  const { claimTokens } = created<{ claimTokens: string[] }>(issued)
  const recoveries: { did: string; token: string }[] = []
  for (const label of ['one', 'two']) {
    const did = await claimAgent(service, acme.id, newKey(), label)
    recoveries.push({ did, token: await startRecovery(admin, did, 'key_lost') })
  }
  const heidi = await signIn(service, await service.operator.addVerifiedOwner('heidi'))
  const moved = await claimAgent(service, acme.id, newKey(), 'moved')
  created(await admin.post(TRANSFERS, { agents: [moved], to: 'heidi' }))
  return [
    {
      name: 'claim token',
      before: '200',
      after: '410',
      use: () => status(post(service, '/api/v1/claim', claimBody(claimTokens.shift() as string))),
    },
    {
      name: 'token of a recovery that they started',
      before: '200',
      after: '404',
      use: () => {
        const { did, token } = recoveries.shift() as { did: string; token: string }
        return status(recoverWith(service, did, { token, next: newKey(), sequence: 2 }))
      },
    },
    {
      name: 'transfer that they started',
      before: 'offered',
      after: 'cancelled',
      use: async () =>
        String(jsonOf<Transfers>(await heidi.get(TRANSFERS)).transfers.map(({ state }) => state)),
    },
  ]
}

/** What goes on: the agents, and what an outage would follow from. */
async function goesOn(
  t: TestContext,
  { service, acme }: SsoWorld,
  { admin, membership }: Leaver,
): Promise<readonly Possession[]> {
  const key = newKey()
  const { claimToken } = created<{ claimToken: string }>(await admin.post('/api/agents/token'))
  const claimed = await post(service, '/api/v1/claim', claimBody(claimToken, key))
  assert.equal(claimed.status, 200, claimed.text)
  const did = jsonOf(claimed).svcDid as string
  created(await admin.post(WEBHOOKS, { url: (await startReceiver(t)).url }))
  created(await admin.post(ISSUERS, { name: 'CI' }))
  return [
    {
      name: 'agent, responsible person',
      before: membership,
      after: 'none',
      use: async () => {
        const agent = jsonOf<OwnerAgent>(await acme.admin.get(`${AGENTS}/${did}`))
        return agent.responsible?.id ?? 'none'
      },
    },
    {
      name: 'agent, public lookup',
      before: 'active',
      after: 'active',
      use: async () => String(jsonOf(await ask(service, `/api/agents/${did}`)).status),
    },
    {
      name: 'agent, proves itself',
      before: 'true',
      after: 'true',
      use: async () =>
        String(jsonOf(await post(service, '/api/v1/agent/verify', verifyBody(key))).verified),
    },
    {
      name: 'webhook that they created, to review',
      before: 'active',
      after: 'active',
      use: async () => {
        const answer = await acme.admin.get(WEBHOOKS)
        return String(jsonOf<{ webhooks: { state: string }[] }>(answer).webhooks.map(stateOf))
      },
    },
    {
      name: 'grant issuer that they created, to review',
      before: 'CI',
      after: 'CI',
      use: async () => {
        const answer = await acme.admin.get(ISSUERS)
        return String(jsonOf<{ issuers: { name: string }[] }>(answer).issuers.map(nameOf))
      },
    },
    {
      name: 'another admin, reads for the organisation',
      before: '200',
      after: '200',
      use: () => status(acme.admin.get(AGENTS)),
    },
  ]
}

const stateOf = ({ state }: { readonly state: string }) => state
const nameOf = ({ name }: { readonly name: string }) => name

test('a leaver’s drill: one request of SCIM, and then nothing of theirs acts for the organisation', async (t: TestContext) => {
  const world = await startSsoWorld(t)
  const { service, acme } = world
  await acme.verify()
  const directory = await openDirectory(service, acme)
  const user = await directory.add('grace@example.com', { externalId: 'grace' })
  const leaver = await addLeaver(world)
  const { secret } = created<{ secret: string }>(await leaver.admin.post(API_KEYS, API_KEY))
  const stream = await fetch(`${service.url}/api/account/stream?organisation=acme`, {
    headers: { cookie: leaver.own.cookie },
  })
  assert.equal(stream.status, 200)
  let closedAt: number | undefined
  const closed = (async () => {
    for await (const _ of stream.body as unknown as AsyncIterable<unknown>);
    closedAt = performance.now()
  })()
  const possessions = [
    ...sessions(service, leaver, secret),
    ...(await goesOn(t, world, leaver)),
    // Last: a new claim token supersedes those that the same member has left unused.
    ...(await started(world, leaver)),
  ]
  for (const each of possessions) assert.equal(await each.use(), each.before, each.name)
  assert.equal(closedAt, undefined, 'the stream is open')

  const began = performance.now()
  const ended = await directory.deactivate(user)
  const answered = performance.now()
  assert.equal(ended.status, 200, ended.text)
  const row = (name: string, before: string, after: string, at: number) => {
    const columns = [name.padEnd(42), before.padEnd(16), after.padEnd(10)]
    t.diagnostic(`${columns.join(' ')}${(at - answered).toFixed(0).padStart(6)}`)
  }
  t.diagnostic(`SCIM "active": false answered after ${(answered - began).toFixed(0)} ms`)
  t.diagnostic(
    `${'of the leaver'.padEnd(42)} ${'before'.padEnd(16)} ${'after'.padEnd(10)}ms after the answer`,
  )
  for (const { name, before, after, use } of possessions) {
    const now = await use()
    row(name, before, now, performance.now())
    assert.equal(now, after, name)
  }
  const [told = ''] = await notificationsOf(acme.admin, 'member_changed')
  assert.match(told, /deactivated in the directory .* still works: 1 webhook and 1 grant issuer\./)
  await closed
  row('stream of events', 'open', 'closed', closedAt as unknown as number)
  const openFor = (closedAt as unknown as number) - answered
  assert.ok(openFor < STREAM_MS, `the stream closed after ${openFor.toFixed(0)} ms`)
})
