import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ask } from '../../../../../test/support/ask.ts'
import { newKey } from '../../../../../test/support/key.ts'
import { type OpenApi, openApiOf } from '../../../../../test/support/openapi.ts'
import { verifyBody } from '../../../../../test/support/refused-posts.ts'
import { claimBody, startTestService } from '../../../../../test/support/service.ts'

/** The endpoints of contract section 4 and those that this service adds. */
const ROUTES = {
  '/api/v1/agent/{agent}': ['get'],
  '/api/v1/agent/verify': ['post'],
  '/api/v1/claim': ['post'],
  '/api/v1/identify': ['get'],
  '/api/agents/{agent}/card': ['get'],
  '/api/agents/{agent}/grade': ['get'],
  '/api/agents/{agent}/runtime/challenge': ['post'],
  '/api/agents/{agent}/runtime': ['post'],
  '/api/v1/agent/{agent}/renounce': ['post'],
  '/api/v1/agent/{agent}/keys': ['get', 'post'],
  '/api/v1/agent/{agent}/recover': ['post'],
  '/api/v1/agent/{agent}/recovery/veto': ['post'],
  '/api/account/agents/{agent}/keys/contest': ['post'],
  '/api/account/agents/{agent}/log': ['get'],
  '/api/account/agents/{agent}/recovery': ['post', 'delete'],
  '/api/account/agents/{agent}/recovery/token': ['post'],
  '/api/v1/agent/{agent}/card': ['get'],
  '/api/v1/agent/{agent}/certificate': ['get'],
  '/api/v1/agent/{agent}/staple': ['get'],
  '/credentials/agent-certificate': ['get'],
  '/.well-known/jwks.json': ['get'],
  '/.well-known/jwt-vc-issuer': ['get'],
  '/status/{list}': ['get'],
  '/api/v1/feed': ['get'],
  '/api/v1/snapshot': ['get'],
  '/api/agents/{agent}': ['get'],
  '/api/agents/{agent}/avatar.svg': ['get'],
  '/api/agents/{agent}/avatar.webp': ['get'],
  '/agent/svc/agent/{tail}/did.json': ['get'],
  '/agent/{agent}/a2a-jwks.json': ['get'],
  '/agent/{agent}/jwks.json': ['get'],
  '/api/v1/verify-request': ['post'],
  '/healthz': ['get'],
  '/log': ['get'],
  '/log/agent/{agent}': ['get'],
  '/log/checkpoint': ['get'],
  '/log/proof/{agent}': ['get'],
  '/log/{epoch}/checkpoint': ['get'],
  '/packages/index.json': ['get'],
  '/packages/{file}': ['get'],
  '/readyz': ['get'],
  '/agent/{agent}': ['get'],
  '/agent/{agent}/badge.svg': ['get'],
  '/agent/{agent}/preview.png': ['get'],
  '/agent/{agent}/qr.svg': ['get'],
  '/api/session': ['get'],
  '/api/session/end': ['post'],
  '/api/sign-up/options': ['post'],
  '/api/sign-up': ['post'],
  '/api/sign-up/provider': ['post'],
  '/api/sign-in/passkey/options': ['post'],
  '/api/sign-in/passkey': ['post'],
  '/api/sign-in/recovery-code': ['post'],
  '/api/sign-in/link': ['post'],
  '/api/sign-in/provider': ['post'],
  '/sign-in/callback/{provider}': ['get'],
  '/api/account': ['get', 'patch'],
  '/api/account/passkeys/options': ['post'],
  '/api/account/passkeys': ['post'],
  '/api/account/passkeys/{id}': ['patch', 'delete'],
  '/api/account/recovery-codes': ['post'],
  '/api/account/sessions/{id}': ['delete'],
  '/api/account/sessions': ['delete'],
  '/api/account/sign-in-providers': ['post'],
  '/api/account/sign-in-providers/{provider}': ['delete'],
  '/api/account/export': ['get'],
  '/api/account/deletion': ['post'],
  '/api/identity': ['get'],
  '/api/identity/{provider}/begin': ['post'],
  '/api/identity/{provider}/complete': ['post'],
  '/identity/callback/{provider}': ['get'],
  '/api/identity/{provider}': ['delete'],
  '/api/identity/{provider}/name': ['delete'],
  '/api/v1/keys/{thumbprint}': ['get'],
  '/api/v1/agent/{agent}/directory-proof': ['put'],
  '/.well-known/http-message-signatures-directory': ['get'],
  '/api/account/api-keys': ['get', 'post'],
  '/api/account/api-keys/{id}': ['delete'],
  '/api/account/grant-issuers': ['get', 'post'],
  '/api/account/grant-issuers/{id}': ['delete'],
  '/api/account/agents/{agent}/grants': ['get'],
  '/api/account/agents/{agent}/grant-issuer': ['put'],
  '/api/v1/agent/{agent}/grant': ['post'],
  '/agent/{tail}/client.json': ['get'],
  '/oauth/issuers/{id}/.well-known/openid-configuration': ['get'],
  '/.well-known/oauth-authorization-server/oauth/issuers/{id}': ['get'],
  '/oauth/issuers/{id}/jwks.json': ['get'],
  '/api/account/webhooks': ['get', 'post'],
  '/api/account/webhooks/{id}': ['patch', 'delete'],
  '/api/account/webhooks/{id}/rotate-secret': ['post'],
  '/api/account/webhooks/{id}/test': ['post'],
  '/api/account/webhooks/{id}/deliveries': ['get'],
  '/api/account/webhooks/{id}/deliveries/{delivery}/redeliver': ['post'],
  '/api/agents/token': ['post'],
  '/api/agents/tokens': ['post'],
  '/api/account/activity': ['get'],
  '/api/account/email': ['get'],
  '/api/account/email/addresses': ['post'],
  '/api/account/email/addresses/{id}': ['delete'],
  '/api/account/email/addresses/{id}/link': ['post'],
  '/api/account/email/preferences': ['patch'],
  '/api/account/notifications': ['get'],
  '/api/account/notifications/read': ['post'],
  '/api/account/onboarding': ['get', 'patch'],
  '/api/account/agents': ['get'],
  '/api/account/agents/{agent}': ['get', 'patch'],
  '/api/account/agents/{agent}/suspend': ['post'],
  '/api/account/agents/{agent}/reactivate': ['post'],
  '/api/account/agents/{agent}/revoke': ['post'],
  '/api/account/agents/{agent}/history': ['get'],
  '/api/account/stream': ['get'],
  '/api/account/agents/revoke-all': ['post'],
  '/api/account/agents/{agent}/avatar': ['put', 'delete'],
  '/api/account/channel-kinds': ['get'],
  '/api/account/agents/{agent}/channels': ['get', 'post'],
  '/api/account/agents/{agent}/channels/{channel}/check': ['post'],
  '/api/account/agents/{agent}/channels/{channel}/countersign': ['post'],
  '/api/account/agents/{agent}/channels/{channel}/renew': ['post'],
  '/api/account/agents/{agent}/channels/{channel}': ['delete'],
  '/webhooks/identity/{provider}': ['post'],
  '/skill.md': ['get'],
  '/.well-known/agent-skills/svc-agent-identity/SKILL.md': ['get'],
  '/llms.txt': ['get'],
  '/.well-known/agent-skills/index.json': ['get'],
}

test('/openapi.json lists exactly the routes that exist', async (t) => {
  const service = await startTestService(t)
  const { document } = await openApiOf(service)
  const told = Object.entries(document.paths).map(([path, operations]) => [
    path,
    Object.keys(operations),
  ])
  assert.deepEqual(Object.fromEntries(told), ROUTES)
})

test('no route under /api is missing from /openapi.json', async (t) => {
  const service = await startTestService(t)
  const told = Object.keys((await openApiOf(service)).document.paths)
  const routes = join(import.meta.dirname, '../../../src')
  const files = readdirSync(routes, { recursive: true, encoding: 'utf8' })
  const written = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(join(routes, file), 'utf8').matchAll(/'(\/api\/[^']*)'/g)].map(
        ([, url]) => url,
      ),
    )
  assert.ok(written.length >= 40)
  for (const url of written as string[]) {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    // A path that ends in a slash is a prefix that is completed elsewhere.
    const found = told.some((each) => (url.endsWith('/') ? each.startsWith(path) : each === path))
    assert.ok(found, url)
  }
})

test('/openapi.json has every method of every address that does not answer 405', async (t) => {
  const service = await startTestService(t)
  const openApi = await openApiOf(service)
  const addresses = Object.keys(ROUTES).map((path) => path.replace(/\{\w+\}/, 'x'))
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
    if (schema === undefined) continue
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

test('every operation declares its errors, and every cacheable one 304', async (t) => {
  const service = await startTestService(t)
  const { document } = await openApiOf(service)
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const { responses } of Object.values(operations)) {
      assert.ok('4XX' in responses && '5XX' in responses, path)
    }
  }
  // Responses to owners are not cacheable.
  const kept = Object.entries(document.paths).filter(
    ([path, { get }]) => path.includes('{') && get !== undefined && !get.tags?.includes('owner'),
  )
  assert.ok(kept.length >= 10)
  for (const [path, { get }] of kept) assert.ok('304' in (get?.responses ?? {}), path)
})

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
  assert.doesNotMatch(text, /svc|ServiceID/)
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
