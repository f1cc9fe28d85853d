import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../../../test/support/key.ts'
import { claimAgent, startTestService } from '../../../../test/support/service.ts'
import { signedHeaders } from '../../../../test/support/sign-request.ts'
import { evidenceOf, reportAgent, reportStatus } from '../../src/relying-party/report-agent.ts'
import { registryOf } from '../support/certified.ts'
import { failsWith } from '../support/fails.ts'

const URL_OF_SEARCH = 'https://shop.example/search?q=1'

test('a site keeps a signed request, reports the agent with it, and reads the answer', async (t) => {
  const service = await startTestService(t)
  const key = newKey()
  const did = await claimAgent(service, await service.operator.addVerifiedOwner(), key)
  const signed = await signedHeaders(service, did, key, { url: URL_OF_SEARCH })
  const headers = [...signed, ['Cookie', 'secret'], ['User-Agent', 'x']] as [string, string][]
  const raw = { method: 'GET', authority: 'shop.example', headers } as const
  const evidence = evidenceOf({ ...raw, scheme: 'https', target: '/search?q=1' })
  assert.ok(evidence)
  assert.deepEqual(evidence.headers.map(([name]) => name).toSorted(), [
    'signature',
    'signature-agent',
    'signature-input',
  ])
  // What a handler of the web platform gets is the same.
  const request = new Request(`${URL_OF_SEARCH}#here`, { headers: signed as [string, string][] })
  assert.deepEqual(evidenceOf(request), evidence)

  const registry = registryOf(service)
  const report = { agent: did, category: 'rate', text: 'Too fast.', evidence: [evidence] } as const
  const sent = await reportAgent(registry, report)
  const { id } = sent
  const open = { id, state: 'open', answer: null, answeredAt: null }
  assert.deepEqual(await reportStatus(registry, sent), open)
  await failsWith('CONFLICT', () => reportAgent(registry, report))
  await failsWith('INVALID_ARGUMENT', () => reportAgent(registry, { ...report, evidence: [] }))
  const other = { ...evidence, url: 'https://rival.example/search?q=1' }
  await failsWith('VALIDATION_ERROR', () => reportAgent(registry, { ...report, evidence: [other] }))
  const guessed = { id, token: `svc-report-${'0'.repeat(32)}` }
  await failsWith('NOT_FOUND', () => reportStatus(registry, guessed))
})

test('a request that is not signed, or whose signature covers a credential, is no evidence', async () => {
  assert.equal(evidenceOf(new Request(URL_OF_SEARCH)), null)
  const service = { url: 'https://id.example', settings: { naming: { idHeader: 'ServiceID' } } }
  const authorization = ['Authorization', 'Bearer x'] as const
  const headers = await signedHeaders(service as never, `svc:agent:${'A'.repeat(24)}`, newKey(), {
    url: URL_OF_SEARCH,
    headers: [authorization],
  })
  assert.equal(
    evidenceOf(new Request(URL_OF_SEARCH, { headers: headers as [string, string][] })),
    null,
  )
})
