import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withRaw } from '../../../../test/support/raw-database.ts'
import { rawGet } from '../../../../test/support/raw-get.ts'
import { claimAgent, startTestService, type TestService } from '../../../../test/support/service.ts'

test('a name that needs escaping goes through the router', async (t) => {
  const before = await startTestService(t)
  const did = await claimAgent(before, await before.operator.addVerifiedOwner())
  await before.stop()
  const { DATA_DIR } = before.env as { DATA_DIR: string }
  const strange = `ö"\\`
  await withRaw(before.settings, (raw) =>
    raw.exec(`UPDATE identity_verifications SET provider = '${strange}'`),
  )
  const service = await startTestService(t, { DATA_DIR })
  for (const path of [did, `${did}?`]) {
    const { status, headers, body } = await get(service, path)
    assert.equal(status, 200)
    assert.equal(JSON.parse(body).owner.identityMethod, strange)
    assert.match(headers[headers.indexOf('etag') + 1] as string, /^"[\x21\x23-\x7e]+"$/)
  }
})

test('lookups before and through the router are both counted in the metrics', async (t) => {
  const { freePort } = await import('../../../../test/support/ports.ts')
  const METRICS_PORT = String(await freePort())
  const service = await startTestService(t, { METRICS_PORT })
  const did = await claimAgent(service, await service.operator.addVerifiedOwner())
  for (const path of [did, `${did}?`, did.slice(-24)]) await get(service, path)
  const metrics = await (await fetch(`http://localhost:${METRICS_PORT}/metrics`)).text()
  const count =
    /http_request_duration_seconds_count\{route="\/api\/v1\/agent\/:agent",method="GET",status="200"\} (\d+)/
  assert.equal(count.exec(metrics)?.[1], '3')
  assert.match(metrics, /countersign_agents_in_memory 1\n/)
  assert.match(metrics, /process_resident_memory_bytes \d+/)
  const elsewhere = await fetch(`${service.url}/metrics`)
  assert.equal(elsewhere.status, 404)
})

function get(service: TestService, reference: string, headers: string[] = []) {
  return rawGet(service, `/api/v1/agent/${reference}`, headers)
}
