import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { after, before, test } from 'node:test'
import {
  type ApprovalOptions,
  assertionEvidence,
  decodeBase64Url,
  type IssuerJwk,
  namingFor,
  type OwnerApproval,
  readApprovalToken,
  textDigest,
  verifyApprovalToken,
} from '@countersign/protocol'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import {
  APPROVALS,
  type ApprovalWorld,
  allowApprovals,
  approve,
  asked,
  assertionFor,
  deny,
  givePasskey,
  newApprovalWorld,
  order,
  ownApproval,
  PAPER,
  progressOf,
} from '../../../../../test/support/approvals.ts'
import { ask } from '../../../../../test/support/ask.ts'
import { Authenticator } from '../../../../../test/support/authenticator.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { actingFor, createOrganisation } from '../../../../../test/support/organisations.ts'
import {
  claimAgent,
  startTestService,
  type TestService,
} from '../../../../../test/support/service.ts'
import { setStatus } from '../../../../../test/support/set-status.ts'
import { signIn } from '../../../../../test/support/signed-in.ts'

/** Stands still unless a test moves it. */
const clock = {
  at: Date.now(),
  now: () => clock.at,
  advance(hours: number) {
    clock.at += hours * 3_600_000
  },
}
let service: TestService
const ends: (() => unknown)[] = []
before(async () => {
  service = await startTestService({ after: (end) => ends.push(end) }, {}, clock.now)
})
after(async () => {
  for (const end of ends.reverse()) await end()
})
const newWorld = () => newApprovalWorld(service, clock.now)
const question = (number = 1, more = {}) => ({ ...order(number), ...more })
const askIn = (world: Pick<ApprovalWorld, 'service' | 'did' | 'key'>, number = 1, more = {}) =>
  asked(world, question(number, more), { createdAt: clock.now() })

async function issuerKeys(): Promise<IssuerJwk[]> {
  const response = await fetch(`${service.url}/.well-known/jwks.json`)
  return ((await response.json()) as { keys: IssuerJwk[] }).keys
}

const verifyWithJwk = (jwk: IssuerJwk, message: Uint8Array, signature: Uint8Array) =>
  verify(null, message, createPublicKey({ key: jwk as never, format: 'jwk' }), signature)

test('an organisation approves by the passkey of a manager of 72 hours', async () => {
  const acme = await createOrganisation(service, 'acme')
  await acme.verify()
  const key = newKey()
  const did = await claimAgent(service, acme.id, key)
  const HOUR = 3_600_000
  const grace = await acme.addMember('grace', 'manager', clock.now() - 72 * HOUR)
  const alan = await acme.addMember('alan', 'manager', clock.now() - 71 * HOUR)
  const sso = await acme.addMember('sso', 'manager', clock.now() - 90 * HOUR)
  const ruth = await acme.addMember('ruth', 'responder', clock.now() - 90 * HOUR)
  const recent = async ({ self }: typeof grace) => {
    return actingFor(await signIn(service, self.ownerId, clock.now()), 'acme')
  }
  await allowApprovals({ owner: await recent(grace), did })
  const asking = { service, did, key }
  const passkeyOf = async ({ self }: typeof grace) =>
    givePasskey(service, self.ownerId, clock.now() - 80 * HOUR)
  const { id } = await askIn(asking)
  for (const target of [APPROVALS, `${APPROVALS}/${id}`]) {
    assertRefused(await ruth.get(target), 403, 'FORBIDDEN', /manager/)
  }
  assertRefused(await deny({ owner: ruth }, id), 403, 'FORBIDDEN', /manager/)
  const young = await approve({ owner: alan, authenticator: await passkeyOf(alan) }, id)
  assertRefused(young, 403, 'FORBIDDEN', /role/)
  assertRefused(await sso.post(`${APPROVALS}/${id}/options`), 403, 'FORBIDDEN', /passkey/)
  // The passkey is the person's own: that of another member is not enough.
  const graces = await passkeyOf(grace)
  assertRefused(await approve({ owner: sso, authenticator: graces }, id), 403, 'FORBIDDEN')
  const answer = await approve({ owner: grace, authenticator: graces }, id)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(jsonOf<OwnerApproval>(answer).decidedBy, 'Owner grace')
  const second = await askIn(asking, 2)
  assert.equal((await deny({ owner: sso }, second.id)).status, 200)
  // Removed while the page was open.
  const third = await askIn(asking, 3)
  const response = await assertionFor({ owner: grace, authenticator: graces }, third.id)
  const admin = actingFor(await signIn(service, acme.admin.self.ownerId, clock.now()), 'acme')
  const removed = await admin.send('DELETE', `/api/account/members/${grace.membership}`)
  assert.equal(removed.status, 200, removed.text)
  const late = await grace.post(`${APPROVALS}/${third.id}/approve`, { response })
  assertRefused(late, 404, 'NOT_FOUND')
  assert.equal((await progressOf(service, third.id)).state, 'pending')
})

test('an approved request has a token that says exactly what the person saw', async () => {
  const world = await newWorld()
  const { id } = await askIn(world, 1, { message: 'as every month', validSeconds: 90 })
  const { allowCredentials } = jsonOf<ApprovalOptions>(
    await world.owner.post(`${APPROVALS}/${id}/options`),
  )
  const [passkey] = world.authenticator.passkeys
  assert.deepEqual(allowCredentials, [
    { id: passkey?.id.toString('base64url'), type: 'public-key', transports: [] },
  ])
  const answer = await approve(world, id)
  assert.equal(answer.status, 200, answer.text)
  const approved = jsonOf<OwnerApproval>(answer)
  assert.deepEqual(
    [approved.state, approved.by, approved.firstForOrigin],
    ['approved', 'passkey', false],
  )
  const { state, token = '', tokenExpiresAt } = await progressOf(service, id)
  assert.equal(state, 'approved')
  const read = readApprovalToken(token, namingFor())
  const at = Math.floor(clock.now() / 1000)
  const keys = await issuerKeys()
  await verifyApprovalToken(read, { issuer: service.url, keys, now: at }, verifyWithJwk)
  const { assertion } = approved
  const bytes = (text: string | undefined) => decodeBase64Url(text ?? '') as Uint8Array
  const { url } = question().request
  assert.deepEqual(read.claims, {
    iss: service.url,
    sub: world.did,
    aud: 'https://shop.example',
    jti: id,
    iat: at,
    exp: at + 90,
    method: 'POST',
    url,
    content: { type: 'application/json', sha256: textDigest(PAPER.body) },
    by: 'passkey',
    evidence: assertionEvidence({
      authenticatorData: bytes(assertion?.authenticatorData),
      clientData: bytes(assertion?.clientData),
      signature: bytes(assertion?.signature),
    }),
  })
  assert.deepEqual(Object.keys(read.claims), [
    ...['iss', 'sub', 'aud', 'jti', 'iat', 'exp', 'method', 'url', 'content', 'by', 'evidence'],
  ])
  assert.equal(Date.parse(tokenExpiresAt ?? ''), (at + 90) * 1000)
  assert.equal((await progressOf(service, id)).token, token)
  clock.advance(0.1)
  const { token: expired, ...rest } = await progressOf(service, id)
  assert.deepEqual([rest.state, expired], ['approved', undefined])
})

test('a request without a body is approved too', async () => {
  const world = await newWorld()
  const request = { method: 'DELETE', url: 'https://shop.example/orders/1?force=yes' }
  const { id } = await asked(world, { request }, { createdAt: clock.now() })
  assert.equal((await approve(world, id)).status, 200)
  const { claims } = readApprovalToken((await progressOf(service, id)).token ?? '', namingFor())
  assert.equal(claims.content, null)
})

test('no other assertion approves', async () => {
  const world = await newWorld()
  const { owner, authenticator } = world
  const { id } = await askIn(world)
  const other = await askIn(world, 2)
  const post = (response: unknown) => owner.post(`${APPROVALS}/${id}/approve`, { response })
  const refused = async (why: string, response: unknown) => {
    const answer = await post(response)
    assert.equal(answer.status, 401, `${why}: ${answer.text}`)
    assertRefused(answer, 401, 'INVALID_SIGNATURE')
  }
  const options = jsonOf<{ options: unknown }>(await owner.post('/api/sign-in/passkey/options'))
  await refused('a sign-in', authenticator.get(options.options))
  await refused('another approval', await assertionFor(world, other.id))
  for (const wrong of [
    { origin: 'https://evil.example' },
    { rpId: 'evil.example' },
    { userVerified: false },
    { userHandle: Buffer.alloc(32).toString('base64url') },
    { challenge: Buffer.alloc(32).toString('base64url') },
  ]) {
    await refused(JSON.stringify(wrong), await assertionFor(world, id, wrong))
  }
  const stranger = await newWorld()
  const foreign = await assertionFor({ owner, authenticator: stranger.authenticator }, id)
  await refused('the passkey of somebody else', foreign)
  const unregistered = new Authenticator(service.settings.baseUrl.origin)
  const user = { id: 'AAAA' }
  unregistered.create({ challenge: 'AAAA', rp: { id: 'localhost' }, user })
  await refused(
    'an unknown passkey',
    await assertionFor({ owner, authenticator: unregistered }, id),
  )
  for (const response of [
    {},
    { id: 1 },
    { id: authenticator.passkeys[0]?.id.toString('base64url') },
  ]) {
    await refused(JSON.stringify(response), response)
  }
  assertRefused(
    await stranger.owner.post(`${APPROVALS}/${id}/approve`, { response: {} }),
    404,
    'NOT_FOUND',
  )
  assert.equal((await progressOf(service, id)).state, 'pending')
  // The counter went up with each attempt.
  assert.equal((await approve(world, id, { counter: 100 })).status, 200)
  const copied = await approve(world, other.id, { counter: 99 })
  assertRefused(copied, 401, 'INVALID_SIGNATURE')
})

test('a passkey of an hour cannot approve, unless the account was made with it', async () => {
  const world = await newWorld()
  const { ownerId } = world.owner
  const { id } = await askIn(world)
  const young = await givePasskey(service, ownerId, clock.now() - 3_600_000)
  assertRefused(
    await approve({ ...world, authenticator: young }, id),
    403,
    'FORBIDDEN',
    /72 hours ago/,
  )
  const { allowCredentials } = jsonOf<ApprovalOptions>(
    await world.owner.post(`${APPROVALS}/${id}/options`),
  )
  assert.equal(allowCredentials.length, 1)
  const { db } = service.operator
  const row = await db.read
    .selectFrom('owners')
    .selectAll()
    .where('id', '=', ownerId)
    .executeTakeFirstOrThrow()
  const first = await givePasskey(service, ownerId, row.created_at)
  assert.equal((await approve({ ...world, authenticator: first }, id)).status, 200)

  const without = await signIn(service, await service.operator.addVerifiedOwner(), clock.now())
  const key = newKey()
  const did = await claimAgent(service, without.ownerId, key)
  await allowApprovals({ owner: without, did })
  const asking = { service, did, key }
  const { id: unsigned } = await asked(asking, order(1), { createdAt: clock.now() })
  const said = /Add a passkey/
  assertRefused(await without.post(`${APPROVALS}/${unsigned}/options`), 403, 'FORBIDDEN', said)
  const response = { id: 'x' }
  assertRefused(
    await without.post(`${APPROVALS}/${unsigned}/approve`, { response }),
    403,
    'FORBIDDEN',
    said,
  )
  assert.equal((await deny({ owner: without }, unsigned)).status, 200)
})

test('an API key reads nothing and decides nothing', async () => {
  const world = await newWorld()
  const { id } = await askIn(world)
  const created = await world.owner.post('/api/account/api-keys', {
    name: 'all',
    scopes: ['agents:read', 'agents:write', 'agents:status', 'agents:revoke'],
    expiresInDays: 1,
  })
  assert.equal(created.status, 201, created.text)
  const { secret } = jsonOf<{ secret: string }>(created)
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  for (const [method, target, body] of [
    ['GET', APPROVALS, undefined],
    ['GET', `${APPROVALS}/${id}`, undefined],
    ['POST', `${APPROVALS}/${id}/options`, '{}'],
    ['POST', `${APPROVALS}/${id}/approve`, '{"response":{}}'],
    ['POST', `${APPROVALS}/${id}/deny`, '{"turnOff":false}'],
    ['PUT', `/api/account/agents/${world.did}/approvals`, '{"enabled":true}'],
  ] as const) {
    const answer = await ask(service, target, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    })
    assertRefused(answer, 403, 'FORBIDDEN')
  }
})

test('a request is decided once, and in time', async () => {
  const world = await newWorld()
  const [first, second, third] = [
    await askIn(world, 1),
    await askIn(world, 2),
    await askIn(world, 3),
  ]
  const denied = await deny(world, first.id)
  assert.equal(denied.status, 200)
  assert.deepEqual([jsonOf(denied).by, jsonOf(denied).tokenExpiresAt], [null, null])
  assertRefused(await approve(world, first.id), 409, 'CONFLICT', /already denied/)
  assertRefused(await deny(world, first.id), 409, 'CONFLICT')
  assert.equal((await approve(world, second.id)).status, 200)
  assertRefused(await deny(world, second.id), 409, 'CONFLICT', /already approved/)
  clock.at = Date.parse(third.expiresAt)
  assertRefused(await approve(world, third.id), 410, 'TOKEN_EXPIRED')
  assertRefused(await deny(world, third.id), 410, 'TOKEN_EXPIRED')
  assertRefused(await world.owner.post(`${APPROVALS}/${third.id}/options`), 410, 'TOKEN_EXPIRED')
  assert.equal((await progressOf(service, third.id)).state, 'expired')
  assert.equal((await ownApproval(world.owner, third.id)).state, 'expired')
})

test('what changes the agent, its key or its owner ends its approvals', async () => {
  const first = await newWorld()
  const { owner } = first
  const stranger = await service.operator.addVerifiedOwner()
  const { db } = service.operator
  const setAgent = ({ did }: ApprovalWorld, values: object) =>
    db.write((tx) =>
      tx.db.updateTable('agents').set(values).where('tail', '=', did.slice(-24)).execute(),
    )
  // changes.slow.test.ts makes them by the front door.
  const changes: [string, (world: ApprovalWorld) => Promise<unknown>][] = [
    ['suspension', ({ did }) => setStatus(service, did, 'suspended')],
    ['another key', (world) => setAgent(world, { key_sequence: 2 })],
    ['another owner', (world) => setAgent(world, { owner_id: stranger })],
    [
      'the suspension of the owner',
      ({ owner: { ownerId } }) =>
        db.write((tx) =>
          tx.db.updateTable('owners').set({ suspended_at: 1 }).where('id', '=', ownerId).execute(),
        ),
    ],
  ]
  for (const [what, change] of changes) {
    const key = newKey()
    const did = await claimAgent(service, owner.ownerId, key, what)
    const world = { ...first, key, did }
    await allowApprovals(world)
    const [given, pending] = [await askIn(world, 1), await askIn(world, 2)]
    assert.equal((await approve(world, given.id)).status, 200)
    const response = await assertionFor(world, pending.id)
    await change(world)
    for (const { id } of [given, pending]) {
      const { state, token } = await progressOf(service, id)
      assert.deepEqual([state, token], ['cancelled', undefined], what)
    }
    const answer = await owner.post(`${APPROVALS}/${pending.id}/approve`, { response })
    assertRefused(answer, 409, 'AGENT_NOT_ACTIVE')
    assertRefused(await deny(world, pending.id), 409, 'AGENT_NOT_ACTIVE')
  }
})

test('texts are deleted after 30 days and rows after 400, and the evidence still verifies', async () => {
  const world = await newWorld()
  const { id } = await askIn(world, 1, { message: 'as every month' })
  assert.equal((await approve(world, id)).status, 200)
  const { db } = service.operator
  const { deleteOldTexts } = await import('../../../src/statements/approvals/ask.ts')
  const deletedAfter = async (days: number) => {
    const now = () => clock.now() + days * 86_400_000
    await deleteOldTexts({ db, now })
    return db.read
      .selectFrom('approvals')
      .select(['body', 'message', 'body_digest', 'message_digest', 'signature'])
      .where('id', '=', id)
      .executeTakeFirst()
  }
  assert.equal((await deletedAfter(29))?.body, PAPER.body)
  const kept = await deletedAfter(31)
  assert.deepEqual([kept?.body, kept?.message], [null, null])
  assert.deepEqual(
    [kept?.body_digest, kept?.message_digest],
    [textDigest(PAPER.body), textDigest('as every month')],
  )
  assert.notEqual(kept?.signature, null)
  assert.equal(await deletedAfter(401), undefined)
})
