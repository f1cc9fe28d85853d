import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { keyThumbprint } from '@countersign/protocol'
import { newTestRule } from '../../../../test/support/enrolment-rule.ts'
import { startSite } from '../../../../test/support/impostor.ts'
import { startTestService } from '../../../../test/support/service.ts'
import { Agent } from '../../src/agent.ts'
import { enrol } from '../../src/enrolment/enrol.ts'
import { newKey } from '../../src/keys/keys.ts'
import { registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'

const RULE = `er_${'z'.repeat(22)}`
const TOKEN = `${'h'.repeat(24)}.${'p'.repeat(24)}.${'s'.repeat(24)}`

test('a workload enrols with a token that is bound to its key, renews with the next one, and ends itself', async (t) => {
  const service = await startTestService(t)
  const { rule, tokenFor } = await newTestRule(service, { binding: 'key' })
  const signer = await newKey()
  const asked: string[] = []
  const options = {
    service: service.url,
    rule: rule.id,
    signer,
    token: (audience: string) => {
      asked.push(audience)
      return tokenFor(audience)
    },
  }
  const enrolled = await enrol(options)
  assert.deepEqual(asked, [`${rule.audience}/${keyThumbprint(signer.publicKey)}`])
  assert.deepEqual([enrolled.agentId, enrolled.renewed], ['crawler', false])
  assert.ok(Date.now() < Date.parse(enrolled.renewAfter))
  assert.ok(enrolled.renewAfter < enrolled.endsAt)
  const again = await enrol(options)
  assert.deepEqual([again.did, again.renewed], [enrolled.did, true])
  const registry = registryOf(service)
  const agent = new Agent({ registry, signer, did: enrolled.did })
  assert.equal((await agent.whoami()).status, 'active')

  const ended = { did: enrolled.did, status: 'revoked', statusReason: 'enrolment_ended' }
  assert.deepEqual(await enrolled.end(), ended)
  assert.deepEqual(await again.end(), ended)
  assert.equal((await registry.lookup(enrolled.did, { fresh: true })).verified, false)
})

test('a deployment with another short name is asked for its names, unless they are given', async (t) => {
  const service = await startTestService(t, { SHORT_NAME: 'acme' })
  const { rule, tokenFor } = await newTestRule(service)
  const options = { service: service.url, rule: rule.id, signer: await newKey(), token: tokenFor }
  const { did } = await enrol(options)
  assert.match(did, /^acme:agent:/)
  const named = await enrol({ ...options, naming: { shortName: 'acme' } })
  assert.deepEqual([named.did, named.renewed], [did, true])
})

test('a refusal has the code of the service, and the token is in no error', async (t) => {
  const service = await startTestService(t)
  const { rule, platform, tokenFor } = await newTestRule(service)
  const signer = await newKey()
  const options = { service: service.url, rule: rule.id, signer }
  const other = await platform.token({ aud: rule.audience, sub: 'another workload' })
  const used = await tokenFor(rule.audience)
  await enrol({ ...options, token: async () => used })
  for (const [code, token, by] of [
    ['FORBIDDEN', other, signer],
    ['CONFLICT', used, await newKey()],
  ] as const) {
    const error = await failsWith(code, enrol({ ...options, signer: by, token: async () => token }))
    assertHides(error, token)
  }
  await failsWith('NOT_FOUND', enrol({ ...options, rule: RULE, token: tokenFor }))
  await failsWith('INVALID_ARGUMENT', enrol({ ...options, rule: 'er_1', token: tokenFor }))
  const html = '<html>no token</html>'
  const error = await failsWith('NO_PLATFORM_TOKEN', enrol({ ...options, token: async () => html }))
  assertHides(error, html)
})

test('the token follows no redirect, and no error repeats what a response repeats of it', async (t) => {
  const bodies: string[] = []
  const thief = await startSite(t, receiveInto(bodies, 200, {}))
  const location = { location: `${thief}/api/v1/enrol` }
  const error = { code: 'FORBIDDEN', message: `No: ${TOKEN}`, requestId: 'req_1' }
  const unknown = { ...error, code: 'NEW_CODE' }
  for (const [status, headers, answer, code] of [
    [307, location, {}, 'PROTOCOL'],
    [308, location, {}, 'PROTOCOL'],
    [403, {}, { error }, 'FORBIDDEN'],
    [403, {}, { error: unknown }, 'PROTOCOL'],
  ] as const) {
    const own: string[] = []
    const service = await startSite(t, receiveInto(own, status, headers, answer))
    const token = async () => TOKEN
    const options = { service, rule: RULE, signer: await newKey(), naming: {}, token }
    assertHides(await failsWith(code, enrol(options)), TOKEN)
    assert.deepEqual([own.length, JSON.parse(own[0] ?? '').token], [1, TOKEN])
  }
  assert.deepEqual(bodies, [])
})

test('a service that asks to wait is asked ten times more, one that fails twice', async (t) => {
  const error = { code: 'UNAVAILABLE', message: 'Too many at once.', requestId: 'req_1' }
  for (const [headers, more, requests] of [
    [{ 'retry-after': '0' }, {}, 11],
    [{ 'retry-after': '0' }, { retries: 1 }, 2],
    [{}, {}, 3],
    [{}, { retries: 4 }, 5],
    [{ 'retry-after': '60' }, {}, 1],
  ] as const) {
    const received: string[] = []
    const service = await startSite(t, receiveInto(received, 503, headers, { error }))
    const workload = { service, rule: RULE, signer: await newKey(), token: async () => TOKEN }
    await failsWith('UNAVAILABLE', enrol({ ...workload, naming: {}, retryBaseMs: 1, ...more }))
    assert.equal(received.length, requests)
  }
})

function receiveInto(
  bodies: string[],
  status: number,
  headers: Record<string, string>,
  answer: object = {},
): RequestListener {
  return async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(body)
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(answer))
  }
}

function assertHides(error: Error, secret: string): void {
  assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(secret))
}
