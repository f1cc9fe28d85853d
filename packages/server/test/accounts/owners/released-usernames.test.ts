import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Answer, assertRefused } from '../../../../../test/support/answer.ts'
import { ask, post } from '../../../../../test/support/ask.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'
import { QUARANTINE_MS } from '../../../src/accounts/username-quarantine.ts'

const START = Date.now()
let now = START
let service: TestService
const ended: (() => unknown)[] = []

before(async () => {
  service = await startTestService({ after: (end) => ended.push(end) }, {}, () => now)
})
after(async () => {
  for (const end of ended.reverse()) await end()
})

/** Moves the clock past the quarantine until the end of the test. */
function afterQuarantine(t: { after(end: () => unknown): void }): void {
  now = START + QUARANTINE_MS
  t.after(() => {
    now = START
  })
}

async function newOwner(username: string) {
  const ownerId = await service.operator.addVerifiedOwner(username)
  return { ownerId, as: () => signIn(service, ownerId, now) }
}

function assertQuarantined(answer: Answer): void {
  assertRefused(answer, 400, 'VALIDATION_ERROR', /given up less than 90 days ago/)
}

const rename = async (owner: Awaited<ReturnType<typeof newOwner>>, username: string) =>
  (await owner.as()).send('PATCH', '/api/account', { username })

const signUp = (username: string) =>
  post(service, '/api/sign-up/options', { username, displayName: 'A stranger' })

test("an owner's released username is free for others after 90 days, for the owner at once", async (t) => {
  const owner = await newOwner('wanderer')
  const stranger = await newOwner('stranger-one')
  assert.equal((await rename(owner, 'settler')).status, 200)

  assertQuarantined(await rename(stranger, 'wanderer'))
  assertQuarantined(await signUp('wanderer'))
  assertQuarantined(await signUp('wandere-r'))
  assert.equal((await rename(owner, 'wanderer')).status, 200, 'the previous owner')
  assert.equal((await rename(owner, 'settler-two')).status, 200)

  now = START + QUARANTINE_MS - 1
  assertQuarantined(await signUp('wanderer'))
  afterQuarantine(t)
  assert.equal((await rename(stranger, 'wanderer')).status, 200)
})

test('the username of a deleted account stays in quarantine, without its text', async (t) => {
  const owner = await newOwner('vanishing')
  const did = await claimAgent(service, owner.ownerId)
  const session = await owner.as()
  const named = { username: 'vanishing-agent' }
  assert.equal((await session.send('PATCH', `/api/account/agents/${did}`, named)).status, 200)
  const deleted = await session.post('/api/account/deletion', { username: 'vanishing' })
  assert.equal(deleted.status, 200, deleted.text)

  assertQuarantined(await signUp('vanishing'))
  const stranger = await newOwner('stranger-two')
  const other = await claimAgent(service, stranger.ownerId)
  const take = async () =>
    (await stranger.as()).send('PATCH', `/api/account/agents/${other}`, named)
  assertQuarantined(await take())
  const rows = await service.operator.db.read.selectFrom('released_usernames').selectAll().execute()
  assert.doesNotMatch(JSON.stringify(rows), /vanishing/)

  afterQuarantine(t)
  assert.equal((await signUp('vanishing')).status, 200)
  assert.equal((await take()).status, 200)
})

test("an agent's released username stays with its owner for 90 days", async (t) => {
  const owner = await newOwner('holder-one')
  const [first, second] = [
    await claimAgent(service, owner.ownerId, undefined, 'a'),
    await claimAgent(service, owner.ownerId, undefined, 'b'),
  ]
  const stranger = await newOwner('stranger-three')
  const theirs = await claimAgent(service, stranger.ownerId)
  const name = async (by: typeof owner, did: string, username: string | null) =>
    (await by.as()).send('PATCH', `/api/account/agents/${did}`, { username })
  assert.equal((await name(owner, first, 'paypal-desk')).status, 200)
  assert.equal((await name(owner, first, null)).status, 200)

  assertQuarantined(await name(stranger, theirs, 'paypal-desk'))
  assertQuarantined(await name(stranger, theirs, 'paypa1-desk'))
  assert.equal((await ask(service, '/agent/paypal-desk')).status, 410, 'an old link leads nowhere')
  assert.equal((await name(owner, second, 'paypal-desk')).status, 200, 'the previous owner')
  assert.equal((await name(owner, second, 'other-desk')).status, 200)

  afterQuarantine(t)
  assert.equal((await name(stranger, theirs, 'paypal-desk')).status, 200)
})

test('owners and agents have separate usernames: neither blocks the other', async () => {
  const owner = await newOwner('double-name')
  assert.equal((await rename(owner, 'single-name')).status, 200)
  const stranger = await newOwner('stranger-four')
  const theirs = await claimAgent(service, stranger.ownerId)
  const session = await stranger.as()
  const taken = await session.send('PATCH', `/api/account/agents/${theirs}`, {
    username: 'double-name',
  })
  assert.equal(taken.status, 200, taken.text)
})
