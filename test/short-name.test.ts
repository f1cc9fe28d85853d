import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerChannel } from '@countersign/protocol'
import { cliFor } from '../packages/cli/test/support/cli.ts'
import type { Answer } from './support/answer.ts'
import { ask, post } from './support/ask.ts'
import { newKey } from './support/key.ts'
import { ACME, assertNoDefaultNames } from './support/renamed-deployment.ts'
import {
  claimAgent,
  claimBody,
  countersignd,
  startTestService,
  type TestService,
} from './support/service.ts'
import { type SignedInOwner, signIn } from './support/signed-in.ts'

interface Scene {
  readonly service: TestService
  readonly owner: SignedInOwner
  readonly did: string
  readonly key: ReturnType<typeof newKey>
}

async function scene(t: Parameters<typeof startTestService>[0]): Promise<Scene> {
  const service = await startTestService(t, { ...ACME, PREVIEWS: 'card-formats' })
  const ownerId = await service.operator.addVerifiedOwner('ada')
  const key = newKey()
  const did = await claimAgent(service, ownerId, key)
  return { service, owner: await signIn(service, ownerId), did, key }
}

/** What came, headers and all. */
function assertAnswer(where: string, answer: Answer): void {
  assertNoDefaultNames(where, `${[...answer.headers].join('\n')}\n${answer.text}`)
}

const READS = (did: string) => {
  const tail = did.slice(-24)
  return [
    `/api/v1/agent/${did}`,
    `/api/v1/agent/${tail}`,
    `/api/v1/agent/${did}/card`,
    `/api/agents/${did}`,
    `/api/agents/${did}/card`,
    `/api/agents/${did}/grade`,
    `/api/agents/${did}/avatar.svg`,
    `/agent/acme/agent/${tail}/did.json`,
    `/agent/${did}/badge.svg`,
    '/openapi.json',
    '/skill.md',
    '/llms.txt',
    '/.well-known/agent-skills/index.json',
    '/healthz',
  ]
}

test('every format of an agent uses the deployment’s names', async (t) => {
  const { service, did } = await scene(t)
  assert.match(did, /^acme:agent:/)
  for (const target of READS(did)) {
    for (const accept of ['*/*', 'application/did+json', 'text/plain', 'text/html']) {
      assertAnswer(`${accept} ${target}`, await ask(service, target, { headers: { accept } }))
    }
  }
  const card = JSON.parse((await ask(service, `/api/agents/${did}/card`)).text)
  assert.equal(card.acmeDid, did)
  const document = await ask(service, `/api/agents/${did}`, {
    headers: { accept: 'application/did+json' },
  })
  assert.match(JSON.parse(document.text).id, /^did:web:localhost%3A\d+:agent:acme:agent:/)
  const identified = await ask(service, '/api/v1/identify', { headers: { acmeid: did } })
  assertAnswer('identify', identified)
  assert.equal(identified.headers.get('vary'), 'AcmeID')
  assert.equal(JSON.parse(identified.text).acmeDid, did)
})

test('tokens, claims, challenges and their errors use the deployment’s names', async (t) => {
  const { service, owner, did, key } = await scene(t)
  const { claimToken } = JSON.parse((await owner.post('/api/agents/token')).text)
  assert.match(claimToken, /^acme-verify-[0-9a-f]{32}$/)
  const claimed = await post(service, '/api/v1/claim', claimBody(claimToken, key, 'second'))
  assert.equal(claimed.status, 200)
  assertAnswer('claim', claimed)
  const challenge = 'hello'
  const proof = {
    publicKey: key.publicKey,
    challenge,
    signature: key.sign(challenge),
    acmeDid: did,
  }
  const verified = await post(service, '/api/v1/agent/verify', proof)
  assert.equal(JSON.parse(verified.text).agent.acmeDid, did)
  assertAnswer('verify', verified)

  const svcDid = `svc:agent:${did.slice(-24)}`
  const refused: [string, Promise<Answer>, number][] = [
    ['the usual prefix', ask(service, `/api/v1/agent/${svcDid}`), 400],
    [
      'the usual token',
      post(service, '/api/v1/claim', claimBody(`svc-verify-${'0'.repeat(32)}`)),
      400,
    ],
    ['the usual header', ask(service, '/api/v1/identify', { headers: { serviceid: did } }), 400],
    ['no DID in the header', ask(service, '/api/v1/identify', { headers: { acmeid: 'x' } }), 400],
    [
      'a claim to sign',
      post(service, '/api/v1/agent/verify', { ...proof, challenge: `${claimToken}|x` }),
      400,
    ],
    [
      'an unknown token',
      post(service, '/api/v1/claim', claimBody(`acme-verify-${'0'.repeat(32)}`)),
      404,
    ],
    ['nobody', ask(service, `/api/agents/acme:agent:${'1'.repeat(24)}`), 404],
    ['another method', ask(service, `/api/agents/${did}`, { method: 'DELETE' }), 405],
  ]
  for (const [name, asked, status] of refused) {
    const answer = await asked
    assert.equal(answer.status, status, name)
    assertAnswer(name, answer)
  }
})

test("the owners' API uses the deployment's names, including proofs of every kind of channel", async (t) => {
  const { service, owner, did, key } = await scene(t)
  for (const target of [
    '/api/session',
    '/api/account',
    '/api/account/agents',
    `/api/account/agents/${did}`,
    `/api/account/agents/${did}/history`,
    '/api/account/export',
    '/api/identity',
    '/api/account/channel-kinds',
  ]) {
    assertAnswer(target, await owner.get(target))
  }
  const { kinds } = JSON.parse((await owner.get('/api/account/channel-kinds')).text)
  assert.ok(kinds.length >= 8)
  const channels = `/api/account/agents/${did}/channels`
  for (const { id, field } of kinds as { id: string; field: { placeholder: string } }[]) {
    const place = { kind: id, handleOrDomain: field.placeholder }
    const added = await owner.post(channels, place)
    assert.equal(added.status, 201, added.text)
    assertAnswer(id, added)
    const channel: OwnerChannel = JSON.parse(added.text)
    assert.match(JSON.stringify(channel.proof), /acme/, id)
    assertAnswer(`${id} refused`, await owner.post(channels, { ...place, handleOrDomain: '!' }))
  }
  const runtime = `/api/agents/${did}/runtime`
  const begun = await post(service, `${runtime}/challenge`, {})
  assertAnswer('runtime challenge', begun)
  const { challenge } = JSON.parse(begun.text)
  assert.ok(challenge.startsWith(`acme-challenge-v1:${service.url}:`))
  const answered = await post(service, runtime, { challenge, signature: key.sign(challenge) })
  assert.equal(answered.status, 200)
  assertAnswer('runtime', answered)
  assertAnswer(
    'passkey',
    await post(service, '/api/sign-up/options', { username: 'bob', displayName: 'Bob' }),
  )
})

test('the output of the commands uses the deployment’s names', async (t) => {
  const { service } = await scene(t)
  const cli = cliFor(t)
  const said = async (...args: string[]) => {
    const result = await cli.run(...args, '--url', service.url)
    assertNoDefaultNames(args.join(' '), result.stdout + result.stderr)
    return result
  }
  await cli.run('keygen')
  const issued = await countersignd(service.env, 'token', 'issue', 'ada')
  assertNoDefaultNames('token issue', issued.stdout)
  const claimed = await said('claim', issued.stdout.trim())
  const did = /acme:agent:\w{24}/.exec(claimed.stdout)?.[0] ?? assert.fail(claimed.stderr)
  for (const command of ['whoami', 'card']) await said(command)
  for (const command of ['lookup', 'card', 'resolve', 'verify']) await said(command, did)
  for (const command of ['lookup', 'card', 'resolve']) await said(command, did, '--json')
  const nobody = await said('lookup', `acme:agent:${'1'.repeat(24)}`, '--json')
  assert.equal(nobody.code, 3)
  await said('claim', `acme-verify-${'0'.repeat(32)}`)
  await said('runtime')
  assertNoDefaultNames('agent list', (await countersignd(service.env, 'agent', 'list')).stdout)
  const revoked = await countersignd(service.env, 'agent', 'revoke', did, '--reason', 'x')
  assert.equal(revoked.code, 0, revoked.stderr)
  assertNoDefaultNames('agent revoke', revoked.stdout)
})
