import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Answer, assertRefused } from '../../../../test/support/answer.ts'
import { ask } from '../../../../test/support/ask.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'
import { setStatus } from '../../../../test/support/set-status.ts'

const ASKED_ANEW = 'public, max-age=0, must-revalidate'
const BRIEFLY = 'public, max-age=30'
const A_MINUTE = 'public, max-age=60'

/** Every URL with a cacheable response, and its caching headers. */
function cachedReads(did: string): [string, string][] {
  return [
    [`/api/v1/agent/${did}`, ASKED_ANEW],
    [`/api/v1/agent/${did.slice(-24)}`, ASKED_ANEW],
    [`/api/agents/${did}`, ASKED_ANEW],
    [`/agent/svc/agent/${did.slice(-24)}/did.json`, ASKED_ANEW],
    [`/agent/${did}/jwks.json`, A_MINUTE],
    [`/api/v1/agent/${did}/card`, BRIEFLY],
    [`/api/agents/${did}/card`, BRIEFLY],
    [`/api/agents/${did}/avatar.svg`, BRIEFLY],
  ]
}

async function start(t: TestContext): Promise<{ service: TestService; did: string }> {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  return { service, did }
}

function revalidate(service: TestService, target: string, tags: string): Promise<Answer> {
  return ask(service, target, { headers: { 'if-none-match': tags } })
}

function etagOf({ headers }: Answer): string {
  return headers.get('etag') as string
}

test('every cacheable response has Cache-Control and Vary', async (t) => {
  const { service, did } = await start(t)
  for (const [target, cacheControl] of cachedReads(did)) {
    const answer = await ask(service, target)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('cache-control'), cacheControl)
    assert.equal(answer.headers.get('vary'), 'Accept')
    assert.match(etagOf(answer), /^"[\w.:/-]{27,}"$/)
    assert.equal(etagOf(await ask(service, target)), etagOf(answer), 'the same bytes, the same tag')
  }
})

test('a matching If-None-Match gets 304 with the caching headers', async (t) => {
  const { service, did } = await start(t)
  for (const [target] of cachedReads(did)) {
    await t.test(target.replace(/svc:agent:\w+|\w{24}/, '{did}'), async () => {
      const full = await ask(service, target)
      const tag = etagOf(full)
      const lists = [
        tag,
        `W/${tag}`,
        '*',
        `"x", ${tag}`,
        `${tag},"x"`,
        `W/"x",W/${tag}`,
        ` ${tag} `,
      ]
      for (const tags of lists) {
        const answer = await revalidate(service, target, tags)
        assert.equal(answer.status, 304, tags)
        assert.equal(answer.text, '')
        for (const name of ['etag', 'cache-control', 'vary', 'access-control-allow-origin']) {
          assert.equal(answer.headers.get(name), full.headers.get(name), name)
        }
        for (const name of ['content-type', 'content-length', 'transfer-encoding']) {
          assert.equal(answer.headers.get(name), null, name)
        }
      }
    })
  }
})

test('another or a malformed If-None-Match gets the full response', async (t) => {
  const { service, did } = await start(t)
  for (const [target] of cachedReads(did)) {
    const full = await ask(service, target)
    const tag = etagOf(full)
    const bare = tag.slice(1, -1)
    for (const tags of [
      '"x"',
      'W/"x"',
      '',
      bare,
      `"${bare}`,
      `'${bare}'`,
      `w/${tag}`,
      `"${tag}"`,
    ]) {
      const answer = await revalidate(service, target, tags)
      assert.equal(answer.status, 200, tags)
      assert.equal(answer.text, full.text)
    }
  }
})

test('HEAD is revalidated like GET', async (t) => {
  const { service, did } = await start(t)
  for (const [target] of cachedReads(did)) {
    const full = await ask(service, target, { method: 'HEAD' })
    const headers = { 'if-none-match': etagOf(full) }
    const answer = await ask(service, target, { method: 'HEAD', headers })
    assert.equal(answer.status, 304)
    for (const name of ['etag', 'cache-control', 'vary', 'content-length']) {
      assert.equal(answer.headers.get(name), full.headers.get(name), name)
    }
    assert.equal(answer.headers.get('content-type'), null)
  }
})

test('an error is never 304, whatever If-None-Match says', async (t) => {
  const { service, did } = await start(t)
  const etag = etagOf(await ask(service, `/api/v1/agent/${did}`))
  for (const tags of ['*', etag, `W/${etag}, *`]) {
    for (const [target] of cachedReads(`svc:agent:${'1'.repeat(24)}`)) {
      assertRefused(await revalidate(service, target, tags), 404, 'NOT_FOUND')
    }
    for (const [target] of cachedReads(`svc:agent:${'0'.repeat(24)}`)) {
      assertRefused(await revalidate(service, target, tags), 400, 'VALIDATION_ERROR')
    }
    assertRefused(await revalidate(service, '/nowhere', tags), 404, 'NOT_FOUND')
  }
})

test('responses that are not cacheable have no revalidation', async (t) => {
  const { service, did } = await start(t)
  const headers = { 'if-none-match': '*', ServiceID: did }
  for (const target of ['/api/v1/identify', '/healthz', '/readyz']) {
    assert.equal((await ask(service, target, { headers })).status, 200)
  }
})

test('a changed agent gets another tag, so that its old response does not revalidate', async (t) => {
  const { service, did } = await start(t)
  const before = await Promise.all(cachedReads(did).map(([target]) => ask(service, target)))
  await setStatus(service, did, 'suspended')
  for (const [i, [target]] of cachedReads(did).entries()) {
    if (target.endsWith('.svg')) continue
    const answer = await revalidate(service, target, etagOf(before[i] as Answer))
    assert.equal(answer.status, 200, target)
    assert.notEqual(answer.text, before[i]?.text)
  }
  await setStatus(service, did, 'active')
  const lookup = await revalidate(service, `/api/v1/agent/${did}`, etagOf(before[0] as Answer))
  assert.equal(lookup.status, 304, 'a lookup says of a lifted suspension what it said before it')
})

test('the agent object and the DID document have tags of their own', async (t) => {
  const { service, did } = await start(t)
  const target = `/api/agents/${did}`
  const accept = 'application/did+json'
  const object = await ask(service, target)
  const document = await ask(service, target, { headers: { accept } })
  assert.notEqual(etagOf(object), etagOf(document))
  for (const { headers } of [object, document]) assert.equal(headers.get('vary'), 'Accept')
  const crossed = await ask(service, target, {
    headers: { accept, 'if-none-match': etagOf(object) },
  })
  assert.equal(crossed.status, 200)
  assert.equal(crossed.text, document.text)
})
