import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AgentObject, Card, Identity } from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import {
  beginIdentity,
  comeBack,
  logInAtProvider,
  signInNewcomer,
} from '../../../../../test/support/verify-identity.ts'
import { textOf } from '../../pages/support/html.ts'

const DAY_MS = 86_400_000

let service: TestService
const START = Date.now()
let now = START
const ended: (() => unknown)[] = []

before(async () => {
  service = await startTestService({ after: (end) => ended.push(end) }, {}, () => now)
})
after(async () => {
  for (const end of ended.reverse()) await end()
})

const cardOf = async (did: string) => jsonOf<Card>(await ask(service, `/api/agents/${did}/card`))
const pageOf = async (did: string) => textOf((await ask(service, `/agent/${did}`)).text)

test('a name needs a recent sign-in to change, and the date is shown for 90 days', async (t) => {
  t.after(() => {
    now = START
  })
  const ownerId = await service.operator.addVerifiedOwner('renamer', 'high')
  const did = await claimAgent(service, ownerId)
  assert.deepEqual((await cardOf(did)).ownerName, {
    selfDeclared: true,
    changedAt: null,
    verified: null,
  })
  const earlier = await signIn(service, ownerId, now - 600_000)
  const rename = { displayName: 'PayPal Holdings, Inc.' }
  const refused = await earlier.send('PATCH', '/api/account', rename)
  assertRefused(refused, 403, 'RECENT_SIGN_IN_REQUIRED')
  assert.equal((await cardOf(did)).owner?.displayName, 'Owner renamer')

  const changedAt = now
  const owner = await signIn(service, ownerId, now)
  assert.equal((await owner.send('PATCH', '/api/account', rename)).status, 200)

  const card = await cardOf(did)
  assert.deepEqual(card.owner, { displayName: 'PayPal Holdings, Inc.', username: 'renamer' })
  assert.equal(card.ownerName?.changedAt, new Date(changedAt).toISOString())
  assert.match(
    await pageOf(did),
    /Self-declared name “ PayPal Holdings, Inc\. ” @renamer Changed on/,
  )

  now = changedAt + 90 * DAY_MS - 1
  assert.equal((await cardOf(did)).ownerName?.changedAt, new Date(changedAt).toISOString())
  now = changedAt + 90 * DAY_MS
  assert.equal((await cardOf(did)).ownerName?.changedAt, null)
  assert.doesNotMatch(await pageOf(did), /Changed on/)
})

test('saving the same name again is no change of it', async () => {
  const ownerId = await service.operator.addVerifiedOwner('same', 'high')
  const did = await claimAgent(service, ownerId)
  const owner = await signIn(service, ownerId, now)
  const same = { username: 'same', displayName: 'Owner same' }
  assert.equal((await owner.send('PATCH', '/api/account', same)).status, 200)
  assert.equal((await cardOf(did)).ownerName?.changedAt, null)
})

test('a self-declared name is labelled as such next to every verification', async () => {
  const ownerId = await service.operator.addVerifiedOwner('labelled', 'high')
  const did = await claimAgent(service, ownerId)
  const page = await pageOf(did)
  assert.match(page, /Its owner calls themselves “ Owner labelled ”\. This name is not verified\./)
  assert.doesNotMatch(page, /has proved who they are/)
  assert.match(
    (await ask(service, `/agent/${did}`)).text,
    /Owner: “Owner labelled” \(self-declared name\)/,
  )
  assert.match(await textOf((await ask(service, `/check?agent=${did}`)).text), /self-declared name/)
})

const IMITATIONS = [
  'PayPal Holdings, Inc. \u2713',
  'PayPal \u2714\ufe0f',
  'PayPal \u2705',
  'PayPal \u2611',
  'PayPal \u{1f3f5}\ufe0f',
  'PayPal \u{1f512}',
  'PayPal\u{e0041}',
  'Pay\u200bPal',
  'Pay\u200dPal',
  'PayPal\u3164',
  'PayPal\ufe0f',
]

test('check marks, seals and invisible characters are refused in names, usernames and descriptions', async () => {
  const ownerId = await service.operator.addVerifiedOwner('imitator')
  const did = await claimAgent(service, ownerId)
  const owner = await signIn(service, ownerId, now)
  const refusals = [
    ['PATCH', '/api/account', 'displayName'],
    ['PATCH', '/api/account', 'username'],
    ['PATCH', `/api/account/agents/${did}`, 'displayName'],
    ['PATCH', `/api/account/agents/${did}`, 'username'],
    ['PATCH', `/api/account/agents/${did}`, 'description'],
  ] as const
  for (const text of IMITATIONS) {
    for (const [method, path, field] of refusals) {
      const answer = await owner.send(method, path, { [field]: text })
      assertRefused(answer, 400, 'VALIDATION_ERROR')
    }
    const names = { username: 'newcomer', displayName: text }
    assertRefused(await post(service, '/api/sign-up/options', names), 400, 'VALIDATION_ERROR')
  }
  const { owner: names } = jsonOf<{ owner: object }>(await owner.get('/api/account'))
  assert.deepEqual(names, { username: 'imitator', displayName: 'Owner imitator' })
})

test('writing that needs joiners is not refused, and in descriptions, emoji are not', async () => {
  const ownerId = await service.operator.addVerifiedOwner('joiner')
  const did = await claimAgent(service, ownerId)
  const owner = await signIn(service, ownerId, now)
  const displayName = '\u0639\u0644\u06cc\u200c\u0631\u0636\u0627'
  assert.equal((await owner.send('PATCH', '/api/account', { displayName })).status, 200)
  const description = 'Books trains \u2600\ufe0f \u2728'
  const path = `/api/account/agents/${did}`
  assert.equal((await owner.send('PATCH', path, { description })).status, 200)
})

test('names that claim a verification, mix scripts, or are those of the service and its providers are refused', async () => {
  const ownerId = await service.operator.addVerifiedOwner('claimant')
  const did = await claimAgent(service, ownerId)
  const owner = await signIn(service, ownerId, now)
  const { serviceName } = service.settings
  const names = ['Verified by Stripe', 'P\u0430yPal', '\u{1f535} PayPal', `${serviceName} support`]
  const provider = 'Development, high assurance'
  for (const displayName of [...names, provider]) {
    for (const path of ['/api/account', `/api/account/agents/${did}`])
      assertRefused(await owner.send('PATCH', path, { displayName }), 400, 'VALIDATION_ERROR')
    const newcomer = { username: 'newcomer', displayName }
    assertRefused(await post(service, '/api/sign-up/options', newcomer), 400, 'VALIDATION_ERROR')
  }
  const description = 'Verified by Stripe'
  const claimed = await owner.send('PATCH', `/api/account/agents/${did}`, { description })
  assertRefused(claimed, 400, 'VALIDATION_ERROR', /must not contain the word “verified”/)
})

async function verify(
  owner: Awaited<ReturnType<typeof signInNewcomer>>,
  provider: string,
  name: string,
  body = {},
) {
  const begun = await beginIdentity(owner, provider, body)
  return comeBack(begun.browser, await logInAtProvider(service, begun, name))
}

test('an owner can publish the verified name, which is stored only then and deleted on request', async () => {
  const owner = await signInNewcomer(service)
  const stored = async () =>
    JSON.stringify([
      await service.operator.db.read.selectFrom('identity_verifications').selectAll().execute(),
      await service.operator.db.read.selectFrom('events').selectAll().execute(),
      await service.operator.db.read.selectFrom('flows').selectAll().execute(),
    ])
  assert.equal((await verify(owner, 'dev-high', 'Augusta Ada King')).verified, 'dev-high')
  assert.ok(!(await stored()).includes('Augusta'), 'not stored unless it is published')
  const did = await claimAgent(service, owner.ownerId)
  assert.equal((await cardOf(did)).ownerName?.verified, null)

  const published = await verify(owner, 'dev-high', 'Augusta Ada King', { publishName: true })
  assert.equal(published.verified, 'dev-high')
  const { verifications } = jsonOf<Identity>(await owner.get('/api/identity'))
  assert.equal(verifications[0]?.publishedName, 'Augusta Ada King')
  const expected = {
    name: 'Augusta Ada King',
    provider: 'dev-high',
    label: 'Development, high assurance',
    // The exact time would link the agents of an owner.
    verifiedAt: `${verifications[0]?.verifiedAt?.slice(0, 10)}T00:00:00.000Z`,
  }
  assert.deepEqual((await cardOf(did)).ownerName?.verified, expected)
  const object = jsonOf<AgentObject>(await ask(service, `/api/agents/${did}`))
  assert.deepEqual(object.ownerName?.verified, expected)
  const page = await pageOf(did)
  assert.match(
    page,
    /Name entered in the test “ Augusta Ada King ” Development, high assurance: nobody checked it/,
  )
  assert.match(page, /Self-declared name “ A newcomer ”/)
  const exported = jsonOf<{ verifications: { publishedName: string }[] }>(
    await owner.get('/api/account/export'),
  )
  assert.equal(exported.verifications[0]?.publishedName, 'Augusta Ada King')

  assert.equal((await owner.send('DELETE', '/api/identity/dev-high/name')).status, 204)
  assert.equal((await cardOf(did)).ownerName?.verified, null)
  assert.ok(!(await stored()).includes('Augusta'), 'deleted')
  assertRefused(await owner.send('DELETE', '/api/identity/dev-high/name'), 404, 'NOT_FOUND')
})

test('a renewal without the choice, and the end of the verification, take the verified name away', async (t) => {
  t.after(() => {
    now = START
  })
  const owner = await signInNewcomer(service)
  await verify(owner, 'dev-substantial', 'Grace Hopper', { publishName: true })
  const did = await claimAgent(service, owner.ownerId)
  assert.equal((await cardOf(did)).ownerName?.verified?.name, 'Grace Hopper')
  await verify(owner, 'dev-substantial', 'Grace Hopper')
  assert.equal((await cardOf(did)).ownerName?.verified, null)

  await verify(owner, 'dev-substantial', 'Grace Hopper', { publishName: true })
  now += 366 * DAY_MS
  assert.equal((await cardOf(did)).ownerName?.verified, null, 'expired')
})

test('names of low assurance, and names that imitate a verification, are not published', async () => {
  const owner = await signInNewcomer(service)
  const refused = await owner.post('/api/identity/dev-low/begin', { publishName: true })
  assertRefused(refused, 400, 'VALIDATION_ERROR')
  const outcome = await verify(owner, 'dev-high', 'PayPal \u2713', { publishName: true })
  assert.equal(outcome.verified, 'dev-high')
  const { verifications } = jsonOf<Identity>(await owner.get('/api/identity'))
  assert.equal(verifications[0]?.publishedName, null)
})
