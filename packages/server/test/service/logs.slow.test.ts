import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  claimBody,
  openOperator,
  postJson,
  startServiceProcess,
} from '../../../../test/support/service.ts'
import { readSettings } from '../../src/base/config.ts'

test('at level debug each request is logged, without its query string and body', async (t) => {
  const service = await startServiceProcess(t, { LOG_LEVEL: 'debug' })
  await fetch(`${service.url}/healthz?code=query-secret`)
  await fetch(`${service.url}/nowhere?code=query-secret`)
  const operator = await openOperator(readSettings(service.env))
  const token = await operator.issueToken(await operator.addVerifiedOwner())
  await operator.close()
  const claimed = await postJson(`${service.url}/api/v1/claim`, claimBody(token))
  const { svcDid: did } = (await claimed.json()) as { svcDid: string }
  // The plainest lookup has a way of its own.
  assert.equal((await fetch(`${service.url}/api/v1/agent/${did}`)).status, 200)
  await postJson(`${service.url}/api/v1/claim?code=query-secret`, { claimToken: 'body-secret' })
  await service.stop()
  const lines = service.output().split('\n')
  assert.ok(lines.some((line) => line.includes('"path":"/healthz"') && line.includes('"id":"req_')))
  assert.ok(lines.some((line) => line.includes('"path":"/api/v1/claim"')))
  assert.ok(lines.some((line) => line.includes(`"path":"/api/v1/agent/${did}"`)))
  assert.doesNotMatch(service.output(), /query-secret|body-secret/)
})

test('at level info requests are not logged', async (t) => {
  const service = await startServiceProcess(t, { LOG_LEVEL: 'info' })
  await fetch(`${service.url}/healthz?code=query-secret`)
  await service.stop()
  assert.match(service.output(), /serves http:\/\/localhost:/)
  assert.doesNotMatch(service.output(), /healthz|query-secret/)
})
