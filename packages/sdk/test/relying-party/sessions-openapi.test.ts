import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startSite } from '../../../../test/support/impostor.ts'
import { OpenApi } from '../../../../test/support/openapi.ts'
import { ROOT, startTestService } from '../../../../test/support/service.ts'
import { readCases } from '../../../../test/support/vector-files.ts'
import { nodeListener } from '../../src/node/node-listener.ts'
import { Registry } from '../../src/registry.ts'
import { agentSignIn } from '../../src/relying-party/agent-sign-in.ts'
import { certifiedAgent } from '../support/certified.ts'

const PATH = '/agent-sign-in'
const document = JSON.parse(readFileSync(join(ROOT, 'docs/sessions.openapi.json'), 'utf8'))
const openApi = new OpenApi(document)

type Schema = Record<string, unknown>
const schemas: Readonly<Record<string, Schema>> = document.components.schemas

/** Every schema in the document. */
function schemasIn(value: unknown): Schema[] {
  if (typeof value !== 'object' || value === null) return []
  const below = Object.values(value).flatMap(schemasIn)
  return 'type' in value && typeof value.type === 'string' ? [value as Schema, ...below] : below
}

test('the description is complete: schemas with types, examples that fit, patterns that all languages read', () => {
  const all = schemasIn(openApi.document)
  assert.ok(all.length > 10)
  for (const schema of all) {
    for (const example of (schema.examples as unknown[]) ?? []) {
      openApi.assertValid('an example', schema, example)
    }
    if (typeof schema.pattern === 'string') {
      assert.doesNotMatch(schema.pattern, /\(\?[^:]|\\[1-9uxpP]/)
      new RegExp(schema.pattern, 'u')
    }
    for (const name of (schema.required as string[]) ?? []) {
      assert.ok(name in (schema.properties as Schema), name)
    }
  }
  for (const method of ['get', 'post']) {
    const { operationId, summary, tags, responses } = document.paths[PATH][method]
    assert.match(operationId, /^[a-z][A-Za-z]+$/)
    assert.ok(summary.length > 0 && tags.length > 0)
    assert.deepEqual(Object.keys(responses), ['200', '4XX', '5XX'])
  }
})

test('the valid answers of vectors/sessions.json fit, and malformed ones do not', () => {
  const check = (value: unknown) =>
    openApi.assertValid('an answer', schemas.Answer as Schema, value)
  for (const { name: _, nonce: __, ...answer } of readCases<{ nonce: string }>(
    'sessions.json',
    ...['answers', 'valid'],
  )) {
    check(answer)
    assert.throws(() => check({ ...answer, signature: 'x' }))
    assert.throws(() => check({ ...answer, publicKey: undefined }))
  }
})

test('the endpoint answers as described', async (t) => {
  const service = await startTestService(t)
  const { agent } = await certifiedAgent(service)
  const box = { url: '', admits: true }
  box.url = await startSite(t, (request, response) => {
    nodeListener(box.url, (each) => signIn.handle(each))(request, response)
  })
  const signIn = agentSignIn({
    registry: new Registry(service.url, { retries: 0 }),
    audience: box.url,
    secret: 's'.repeat(32),
    admit: () => box.admits,
  })
  const ask = async (method: string, body?: unknown, type = 'application/json') => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const headers = { 'content-type': type }
    const response = await fetch(box.url + PATH, { method, headers, ...init })
    const text = await response.text()
    const { status } = response
    openApi.assertConforms(method, PATH, { status, headers: response.headers, text })
    return { status, body: JSON.parse(text) }
  }
  const answer = async () => {
    const { body } = await ask('GET')
    return agent.answer(body.challenge, { audience: box.url })
  }
  const first = await answer()
  assert.equal((await ask('POST', first)).status, 200)
  assert.equal((await ask('POST', first)).status, 401)
  const { signature } = first
  assert.equal((await ask('POST', { ...(await answer()), signature })).status, 401)
  assert.equal((await ask('POST', {})).status, 400)
  assert.equal((await ask('POST', {}, 'text/plain')).status, 415)
  assert.equal((await ask('POST', 'x'.repeat(20_000))).status, 413)
  box.admits = false
  assert.equal((await ask('POST', await answer())).status, 403)
  const last = await answer()
  await service.stop()
  assert.equal((await ask('POST', last)).status, 503)
})
