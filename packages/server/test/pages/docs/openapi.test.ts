import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERROR_STATUS, type ErrorCode, type ErrorEnvelope, SCIM_TYPE } from '@countersign/protocol'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { type OpenApi, type Operation, openApiOf } from '../../../../../test/support/openapi.ts'
import { verifyBody } from '../../../../../test/support/refused-posts.ts'
import { claimBody, startTestService } from '../../../../../test/support/service.ts'
import { startWith } from '../../http/support/start-with.ts'

/**
 * Pages for people with their forms, what they load, the tiles of the log, which C2SP describes, Go's module proxy, and what of SCIM is
 * not supported.
 */
const PAGES =
  /^\/(?:$|assets\/|check|console$|dashboard|development\/|docs|email\/|icon\.svg$|log\/(?:.*\/)?tile\/|openapi\.json$|packages\/go\/|preview\.png$|sample$|scim\/v2\/(?:\.search|Bulk|Groups|Me|Users\/\.search))/

test('/openapi.json lists exactly the paths that exist, but for pages', async (t) => {
  const paths = new Set<string>()
  const service = await startWith(t, {}, (app) =>
    app.addHook('onRoute', ({ url }) => {
      if (!PAGES.test(url)) paths.add(url)
    }),
  )
  const { document } = await openApiOf(service)
  const told = Object.keys(document.paths).map((path) => path.replaceAll(/\{(\w+)\}/g, ':$1'))
  assert.ok(told.length >= 100)
  assert.deepEqual(told.toSorted(), [...paths].toSorted())
})

test('/openapi.json has every method of every address that does not answer 405', async (t) => {
  const service = await startTestService(t)
  const openApi = await openApiOf(service)
  const addresses = Object.keys(openApi.document.paths).map((path) => path.replace(/\{\w+\}/, 'x'))
  for (const address of addresses) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status } = await ask(service, address, { method })
      const told = openApi.operationOf(method, address) !== null
      assert.equal(told, status !== 405, `${method} ${address}`)
    }
  }
})

test('/openapi.json is OpenAPI 3.1 with resolvable references and unique operation ids', async (t) => {
  const service = await startTestService(t, { BASE_URL: 'https://agents.example' })
  const { published: document } = await openApiOf(service)
  assert.match(document.openapi, /^3\.1\./)
  assert.deepEqual((document as { servers?: unknown }).servers, [{ url: 'https://agents.example' }])
  const operations = Object.values(document.paths).flatMap(Object.values)
  const names = operations.map(({ operationId }) => operationId)
  assert.equal(new Set(names).size, names.length)
  for (const name of names) assert.match(name, /^[a-z][A-Za-z]+$/)
  for (const { $ref } of everyObject(document)) {
    if (typeof $ref === 'string') assert.ok(resolve(document, $ref) !== undefined, $ref)
  }
})

test('every schema in /openapi.json is a valid JSON Schema, and every path parameter is declared', async (t) => {
  const service = await startTestService(t)
  const { document } = await openApiOf(service)
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  let schemas = 0
  for (const { schema } of everyObject(document)) {
    // Types of resources in SCIM have the name of one.
    if (schema === undefined || typeof schema === 'string') continue
    schemas += 1
    assert.ok(ajv.validateSchema(schema as object), ajv.errorsText())
  }
  assert.ok(schemas > 30)
  for (const [path, operations] of Object.entries(document.paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const operation of Object.values(operations)) {
      const { parameters = [] } = operation as { parameters?: { in: string; name: string }[] }
      const told = parameters.filter((each) => each.in === 'path').map(({ name }) => name)
      assert.deepEqual(told, inPath, path)
    }
  }
})

/** They change at any time, and only the client that began them reads them. */
const OF_ASKERS = ['/api/v1/approvals/{id}', '/api/v1/reports/{id}']

test('every operation has a response for each status of its codes, and every cacheable one 304', async (t) => {
  const service = await startTestService(t)
  const { document } = await openApiOf(service)
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const { responses, 'x-errors': codes = [] } of Object.values(operations)) {
      const told = [...codes, 'METHOD_NOT_ALLOWED'] as ErrorCode[]
      const refusals = Object.entries(responses).filter(([, each]) => examplesIn(each).length > 0)
      const examples = refusals.flatMap(([status, each]) =>
        examplesIn(each).map(([code, { value }]) => {
          assert.equal(value.error.code, code)
          return `${status} ${code}`
        }),
      )
      const expected = told.map((code) => `${ERROR_STATUS[code]} ${code}`)
      assert.deepEqual(examples.toSorted(), expected.toSorted(), path)
      assert.ok(!Object.keys(responses).some((status) => status.endsWith('XX')), path)
    }
  }
  // Responses to owners and their identity providers are not cacheable, nor what only an agent or a reporter asks for.
  const isPublic = ({ tags = [] }: Operation) => !tags.includes('owner') && !tags.includes('scim')
  const kept = Object.entries(document.paths).filter(
    ([path, { get }]) =>
      path.includes('{') && get !== undefined && isPublic(get) && !OF_ASKERS.includes(path),
  )
  assert.ok(kept.length >= 10)
  for (const [path, { get }] of kept) assert.ok('304' in (get?.responses ?? {}), path)
})

/** The refusals that a response has examples of, by code. */
function examplesIn(response: unknown): [string, { value: ErrorEnvelope }][] {
  const { content } = response as { content?: Record<string, { examples?: object }> }
  const { examples = {} } = content?.['application/json'] ?? content?.[SCIM_TYPE] ?? {}
  return Object.entries(examples)
}

test('body schemas accept and refuse the same bodies as the service', async (t) => {
  const openApi = await openApiOf(await startTestService(t))
  const claim = claimBody(`svc-verify-${'0'.repeat(32)}`)
  const verification = verifyBody(newKey())
  assertBody(openApi, '/api/v1/claim', claim, true)
  assertBody(openApi, '/api/v1/claim', { ...claim, agentId: '' }, false)
  assertBody(openApi, '/api/v1/claim', { ...claim, agentId: 'a\tb' }, false)
  assertBody(openApi, '/api/v1/claim', { ...claim, agentId: '😀'.repeat(128) }, true)
  assertBody(openApi, '/api/v1/claim', { ...claim, agentId: '😀'.repeat(129) }, false)
  assertBody(openApi, '/api/v1/claim', { ...claim, note: '' }, false)
  assertBody(openApi, '/api/v1/agent/verify', verification, true)
  const did = `svc:agent:${'1'.repeat(24)}`
  assertBody(openApi, '/api/v1/agent/verify', { ...verification, svcDid: did }, true)
  assertBody(openApi, '/api/v1/agent/verify', { ...verification, challenge: '' }, false)
  assertBody(openApi, '/api/v1/agent/verify', { ...verification, signature: 'x' }, false)
})

test('/openapi.json uses the names of the deployment', async (t) => {
  const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
  const { document } = await openApiOf(service)
  const text = JSON.stringify(document)
  // Not what is by chance in a signature.
  const found = [...text.matchAll(/(?<![\w+/-])svc(?=[:-])|svcDid|ServiceID/g)]
  const told = found.map(({ index }) => text.slice(index - 40, index + 40))
  assert.deepEqual(told, [])
  assert.match(text, /acmeDid/)
  assert.ok('/agent/acme/agent/{tail}/did.json' in document.paths)
})

function assertBody(openApi: OpenApi, path: string, body: unknown, valid: boolean): void {
  const operation = openApi.document.paths[path]?.post
  const schema = operation?.requestBody?.content['application/json']?.schema
  assert.ok(schema)
  const check = () => openApi.assertValid(path, schema, body)
  if (valid) check()
  else assert.throws(check, { code: 'ERR_ASSERTION' })
}

function* everyObject(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Record<string, unknown>
  for (const child of Object.values(value)) yield* everyObject(child)
}

function resolve(document: unknown, reference: string): unknown {
  const [start, ...steps] = reference.split('/')
  assert.equal(start, '#', 'references stay within the document')
  let value = document as Record<string, unknown> | undefined
  for (const step of steps) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    value = value?.[name] as Record<string, unknown> | undefined
  }
  return value
}
