import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { lintFromString, loadConfig } from '@redocly/openapi-core'
import { ROOT, startTestService } from '../../../../../test/support/service.ts'

test('/openapi.json has no fault by the rules of tools/openapi/redocly.yaml', async (t) => {
  const service = await startTestService(t, { BASE_URL: 'https://id.example' })
  const source = await (await fetch(`${service.url}/openapi.json`)).text()
  const config = await loadConfig({ configPath: join(ROOT, 'tools/openapi/redocly.yaml') })
  const lint = (text: string) => lintFromString({ source: text, config })
  const problems = await lint(source)
  assert.deepEqual(
    problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    [],
  )
  const faulty = await lint(source.replace('"operationId":"lookup"', '"operationId":"verify"'))
  assert.ok(faulty.some(({ ruleId }) => ruleId === 'operation-operationId-unique'))
})
