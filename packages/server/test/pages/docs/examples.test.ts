import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openApiOf } from '../../../../../test/support/openapi.ts'
import { ROOT, startTestService } from '../../../../../test/support/service.ts'

interface Answered {
  readonly request: { readonly body?: unknown }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body?: unknown
  }
}

type Media = Readonly<Record<string, { readonly example?: unknown }>>

const STORED = join(ROOT, 'tools/openapi/examples/examples.json')
const { operations } = JSON.parse(readFileSync(STORED, 'utf8')) as {
  operations: Record<string, Answered[]>
}

test('/openapi.json at the URL of the examples prints the requests and answers as they were recorded', async (t) => {
  const env = { BASE_URL: 'https://id.example', PREVIEWS: 'card-formats' }
  const { document } = await openApiOf(await startTestService(t, env))
  const told = Object.values(document.paths).flatMap((each) => Object.values(each))
  let compared = 0
  for (const { operationId, requestBody, responses } of told) {
    const [usual, ...others] = operations[operationId] ?? []
    const sent = requestBody?.content as Media | undefined
    if (usual?.request.body !== undefined)
      assert.deepEqual(sent?.['application/json']?.example, usual.request.body, operationId)
    for (const { response } of [usual, ...others].filter((each) => each !== undefined)) {
      const type = response.headers['content-type']?.split(';')[0] ?? ''
      const content = responses[String(response.status)]?.content as Media | undefined
      const example = content?.[type]?.example
      if (response.body === undefined || type === 'application/x-ndjson') continue
      // Of several answers of one form, the first is the example.
      const first = operations[operationId]?.find(
        (each) =>
          each.response.status === response.status &&
          each.response.headers['content-type'] === response.headers['content-type'],
      )
      assert.deepEqual(example, first?.response.body, operationId)
      compared += 1
    }
  }
  assert.ok(compared > 100)
  assert.ok(!/:"text"[,}]/.test(JSON.stringify(document.paths)))
})

test('the examples are one world: signatures verify, and states agree', () => {
  const bodyOf = (name: string) => operations[name]?.[0]?.response.body as Record<string, unknown>
  assert.deepEqual(
    [bodyOf('verify').verified, bodyOf('verifyRequest').verdict, bodyOf('verifyRequest').reason],
    [true, 'verified', null],
  )
  assert.equal(bodyOf('renounce').status, 'suspended')
  const did = bodyOf('claim').svcDid
  assert.deepEqual(
    [bodyOf('card').svcDid, bodyOf('agent').svcDid, bodyOf('grade').grade],
    [did, did, bodyOf('card').grade],
  )
  const { agents } = bodyOf('ownerAgents') as { agents: { status: string }[] }
  assert.deepEqual(
    new Set(agents.map(({ status }) => status)),
    new Set(['active', 'suspended', 'revoked']),
  )
})
