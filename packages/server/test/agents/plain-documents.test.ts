import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { post } from '../../../../test/support/ask.ts'
import { newKey } from '../../../../test/support/key.ts'
import { rotationBody } from '../../../../test/support/key-operations.ts'
import { giveProfile } from '../../../../test/support/profile.ts'
import { type RawAnswer, rawGet } from '../../../../test/support/raw-get.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { signIn } from '../../../../test/support/signed-in.ts'
import { until } from '../../../../test/support/until.ts'
import { verifyOwner } from '../../src/accounts/identity/record-verification.ts'
import { putAvatar, redPng } from './manage/avatar-uploads.ts'
import { agentIn } from './manage/with-agent.ts'

const DOCUMENTS = ['card', 'didDocument', 'didJson', 'keySet'] as const
type DocumentName = (typeof DOCUMENTS)[number]
type Documents = Record<DocumentName, RawAnswer>

const MINUTE = 60_000

/** The documents about an agent, each of which equals what the router answers: it answers whatever has a query. */
async function documentsOf(service: TestService, did: string): Promise<Documents> {
  const didJson = ['Accept', 'application/did+json']
  const requests: readonly [DocumentName, string, string[]][] = [
    ['card', `/api/agents/${did}/card`, []],
    ['didDocument', `/api/agents/${did}`, didJson],
    ['didJson', `/agent/svc/agent/${did.slice(-24)}/did.json`, []],
    ['keySet', `/agent/${did}/jwks.json`, []],
  ]
  const answers = await Promise.all(
    requests.map(async ([name, path, headers]) => {
      for (;;) {
        const answer = await rawGet(service, path, headers)
        const routed = await rawGet(service, `${path}?`, headers)
        // The service may have followed a change between the two.
        const again = await rawGet(service, path, headers)
        if (!isDeepStrictEqual(withoutId(answer), withoutId(again))) continue
        assert.deepEqual(withoutId(answer), withoutId(routed), name)
        return [name, answer] as const
      }
    }),
  )
  return Object.fromEntries(answers) as Documents
}

/** Errors and documents of revoked agents alone may name their request. */
function withoutId({ status, headers, body }: RawAnswer): RawAnswer {
  return { status, headers, body: body.replaceAll(/req_\w+/g, 'req_') }
}

function changed(before: Documents, after: Documents): DocumentName[] {
  return DOCUMENTS.filter((name) => before[name].body !== after[name].body)
}

test('documents have the same bytes ahead of the router and through it, in every form of request', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const tail = did.slice(-24)
  const spellings = [
    did,
    tail,
    encodeURIComponent(did),
    `svc%3aagent:${tail}`,
    encodeURIComponent(key.publicKey),
  ]
  const paths = [
    ...spellings.flatMap((each) => [
      `/api/agents/${each}/card`,
      `/api/agents/${each}`,
      `/agent/${each}/jwks.json`,
    ]),
    ...[did, tail, `%${tail.charCodeAt(0).toString(16)}${tail.slice(1)}`].map(
      (each) => `/agent/svc/agent/${each}/did.json`,
    ),
    `/api/agents/svc:agent:${'1'.repeat(24)}/card`,
    '/.well-known/jwks.json',
  ]
  const headers = [
    [],
    ['Accept', 'application/did+json'],
    ['ACCEPT', 'application/did+json, application/json'],
    ['Accept', 'application/did+json', 'accept', 'application/json;q=0.5'],
    ['Accept', 'text/html'],
    ['Accept', 'application/did+json', 'If-None-Match', '*'],
    ['If-Match', '"x"'],
    ['Origin', 'https://site.example'],
    ['Host', 'a b'],
  ]
  for (const path of paths) {
    for (const each of headers) {
      const answer = withoutId(await rawGet(service, path, each))
      assert.deepEqual(withoutId(await rawGet(service, path, each)), answer, 'from memory')
      assert.deepEqual(
        withoutId(await rawGet(service, `${path}?`, each)),
        answer,
        `${path} ${each}`,
      )
    }
  }
})

test('cards in other formats depend on Accept ahead of the router, too', async (t) => {
  const service = await startTestService(t, { PREVIEWS: 'card-formats' })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  for (const accept of ['text/plain', 'text/html', 'application/json', null, 'text/plain']) {
    const headers = accept === null ? [] : ['Accept', accept]
    const answer = await rawGet(service, `/api/agents/${did}/card`, headers)
    assert.deepEqual(await rawGet(service, `/api/agents/${did}/card?`, headers), answer)
    const type = answer.headers[answer.headers.indexOf('content-type') + 1]
    assert.equal(type, `${accept ?? 'application/json'}; charset=utf-8`)
  }
})

test('every change of an agent, of its owner or by time is in the next documents', async (t) => {
  let time = Date.now()
  const service = await startTestService(t, {}, () => time)
  const { operator } = service
  const ownerId = await operator.addVerifiedOwner('ada')
  let owner = await signIn(service, ownerId, time)
  const key = newKey()
  const did = await claimAgent(service, ownerId, key)
  const path = `/api/account/agents/${did}`
  let last = await documentsOf(service, did)

  /** Applies a change, and compares the documents with those before it. */
  const after = async (change: () => unknown, expected: readonly DocumentName[]) => {
    await change()
    const next = await documentsOf(service, did)
    assert.deepEqual(changed(last, next), expected, String(change))
    last = next
  }
  const send = async (method: string, target: string, body?: unknown) => {
    const answer = await owner.send(method, target, body)
    assert.equal(answer.status, 200, answer.text)
  }

  await after(() => undefined, [])
  await after(() => send('PATCH', path, { displayName: 'Grüße, „Ada“' }), ['card'])
  await after(() => send('PATCH', path, { username: 'robot' }), ['card'])
  await after(() => send('PATCH', path, { username: null }), ['card'])
  await after(
    async () => agentIn(await putAvatar({ service, owner, did }, await redPng())),
    ['card'],
  )
  await after(() => send('DELETE', `${path}/avatar`), ['card'])
  await after(() => send('PATCH', '/api/account', { displayName: 'Ada L.' }), ['card'])
  await after(() => send('PATCH', '/api/account', { username: 'ada-l' }), ['card'])

  const freshUntil = time + MINUTE
  const channel = { kind: 'domain', handleOrDomain: 'ada.example', tier: 2, freshUntil } as const
  await after(() => giveProfile(service, did, { channels: [channel] }), ['card'])
  await after(() => {
    time = freshUntil
  }, ['card'])

  const verifying = { db: operator.db, now: () => time, pepper: operator.pepper }
  const expiresAt = time + MINUTE
  const verification = {
    provider: 'dev-high',
    issuer: 'x',
    subject: 'x',
    assurance: 'high',
  } as const
  await after(async () => {
    await verifyOwner(verifying, ownerId, { ...verification, expiresAt })
    await untilChanged(service, did, last)
  }, ['card'])
  await after(() => {
    time = expiresAt
  }, ['card'])
  await after(() => {
    time = expiresAt - 1
  }, ['card'])
  await after(() => {
    time += 100 * 24 * 60 * MINUTE
  }, ['card'])

  owner = await signIn(service, ownerId, time)
  const next = newKey()
  const issuedAt = Math.floor(time / 1000)
  const body = rotationBody(service, did, { old: key, next, sequence: 2 }, { issuedAt })
  await after(
    async () => assert.equal((await post(service, `/api/v1/agent/${did}/keys`, body)).status, 200),
    ['didDocument', 'didJson', 'keySet'],
  )

  const all = DOCUMENTS
  await after(() => send('POST', `${path}/suspend`, {}), all)
  await after(() => send('POST', `${path}/reactivate`, {}), all)
  await after(() => send('POST', `${path}/revoke`, {}), all)
  assert.equal(last.didDocument.status, 410)
  await after(() => send('POST', '/api/account/deletion', { username: 'ada-l' }), ['card'])
  assert.equal(JSON.parse(last.card.body).owner, null)
})

async function untilChanged(service: TestService, did: string, last: Documents): Promise<void> {
  await until(async () => changed(last, await documentsOf(service, did)).length > 0)
}
