import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { lintFromString, loadConfig } from '@redocly/openapi-core'
import { Document, Spectral } from '@stoplight/spectral-core'
import parsers from '@stoplight/spectral-parsers'
import { oas } from '@stoplight/spectral-rulesets'
import { fileCleanup } from '../../../../../test/support/file-cleanup.ts'
import { ROOT, startTestService } from '../../../../../test/support/service.ts'

const RULESET = {
  extends: [oas],
  rules: {
    // Each deployment has its own operator, whose contact the service does not know.
    'info-contact': 'off',
    // Every operation has a summary. A description would repeat it where there is nothing to add.
    'operation-description': 'off',
    // OpenAPI 3.1 allows roles for every scheme; the rule knows only scopes of OAuth 2.
    'oas3-operation-security-defined': 'off',
  },
} as const

const cleanup = fileCleanup()
let source: string
/** The same with a fault that every linter knows. */
let faulty: string

before(async () => {
  const service = await startTestService(cleanup, { BASE_URL: 'https://id.example' })
  source = await (await fetch(`${service.url}/openapi.json`)).text()
  faulty = source.replace('"operationId":"lookup"', '"operationId":"verify"')
})

test('redocly finds no fault by the rules of tools/openapi/redocly.yaml', async () => {
  const config = await loadConfig({ configPath: join(ROOT, 'tools/openapi/redocly.yaml') })
  const lint = async (text: string) =>
    (await lintFromString({ source: text, config })).map(({ ruleId, message, location }) => ({
      ruleId,
      message,
      at: location[0]?.pointer,
    }))
  assert.deepEqual(await lint(source), [])
  const found = await lint(faulty)
  assert.ok(found.some(({ ruleId }) => ruleId === 'operation-operationId-unique'))
})

test('spectral finds no fault by its rules for OpenAPI, but for three', async () => {
  const spectral = new Spectral()
  spectral.setRuleset(RULESET as unknown as Parameters<Spectral['setRuleset']>[0])
  const lint = async (text: string) =>
    (await spectral.run(new Document(text, parsers.Json))).map(({ code, message, path }) => ({
      code,
      message,
      at: path.join('/'),
    }))
  assert.deepEqual(await lint(source), [])
  const found = await lint(faulty)
  assert.ok(found.some(({ code }) => code === 'operation-operationId-unique'))
})
