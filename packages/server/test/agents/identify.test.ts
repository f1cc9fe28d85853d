import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRefused, jsonOf } from '../../../../test/support/answer.ts'
import { ask, askRaw } from '../../../../test/support/ask.ts'
import { unchanged } from '../../../../test/support/database-digest.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { readCases } from '../../../../test/support/vector-files.ts'

const URL = '/api/v1/identify'
const GET = `GET ${URL} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`

test('the identification header names an agent by DID or by tail', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  for (const ServiceID of [did, did.slice(-24), ` ${did}\t`]) {
    const answer = await ask(service, URL, { headers: { ServiceID } })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    const body = jsonOf(answer)
    assert.equal(body.svcDid, did)
    assert.equal(body.verified, true)
    assert.equal(body.identityLevel, 'in-person')
    assert.equal(body.suggestedUse, 'full')
    assert.equal(body.proofOfPossession, false)
  }
})

test('an identification header that is neither a DID nor a tail is rejected', async (t) => {
  const service = await startTestService(t)
  const cases = readCases<{ value: string; shortName?: string }>(
    'identification-header.json',
    'invalid',
  )
  for (const { name, value, shortName = 'svc' } of cases) {
    // The HTTP parser rejects characters that a header cannot contain and trims white space.
    const bytes = Buffer.from(value, 'utf8').toString('latin1')
    const carried = value.isWellFormed() && !/[\0\r\n]/.test(value)
    if (!carried || shortName !== 'svc' || value !== value.trim()) continue
    await t.test(name, async () => {
      const answer = await unchanged(service, () =>
        askRaw(service, `${GET}ServiceID: ${bytes}\r\n\r\n`),
      )
      assertRefused(answer, 400, 'VALIDATION_ERROR')
    })
  }
})

test('two identification headers are rejected, even if both name the same agent', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  const pairs = {
    'the same twice': [did, did],
    'two spellings of one': [did, did.slice(-24)],
    'two agents': [did, '1'.repeat(24)],
    'one that is empty': [did, ''],
    'one that is empty, first': ['', did],
  }
  for (const [name, values] of Object.entries(pairs)) {
    await t.test(name, async () => {
      const headers = values.map((value) => `ServiceID: ${value}\r\n`).join('')
      assertRefused(await askRaw(service, `${GET}${headers}\r\n`), 400, 'VALIDATION_ERROR')
    })
  }
})

test('a missing identification header, or one with another name, is rejected', async (t) => {
  const service = await startTestService(t)
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  for (const headers of [
    '',
    `Service-ID: ${did}\r\n`,
    `X-ServiceID: ${did}\r\n`,
    'ServiceID:\r\n',
  ]) {
    assertRefused(await askRaw(service, `${GET}${headers}\r\n`), 400, 'VALIDATION_ERROR')
  }
})

test('a header that names an unknown agent is not found', async (t) => {
  const service = await startTestService(t)
  const answer = await ask(service, URL, { headers: { ServiceID: '1'.repeat(24) } })
  assertRefused(answer, 404, 'NOT_FOUND')
})

test('the header name is configurable, and no other name is accepted', async (t) => {
  const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  assert.match(did, /^acme:agent:/)
  const answer = await ask(service, URL, { headers: { acmeid: did } })
  assert.equal(jsonOf(answer).acmeDid, did)
  assert.equal(answer.headers.get('vary'), 'AcmeID')
  const other = await ask(service, URL, { headers: { ServiceID: did } })
  assertRefused(other, 400, 'VALIDATION_ERROR')
})
