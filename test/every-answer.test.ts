import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { watchAnswers } from './support/every-answer.ts'

const DOCUMENT = {
  openapi: '3.1.0',
  paths: {
    '/thing': {
      get: {
        operationId: 'thing',
        responses: {
          200: {
            content: {
              'application/json': {
                schema: { type: 'object', properties: { a: { type: 'integer' } } },
              },
            },
          },
        },
      },
    },
  },
}

for (const [what, status, body, fault] of [
  ['is foreseen', 200, '{"a":1}', null],
  ['has a member too many', 200, '{"a":1,"b":2}', /must NOT have additional properties/],
  ['has a member of another type', 200, '{"a":"1"}', /must be integer/],
  ['has a status of which nothing is said', 418, '{"a":1}', /says nothing of status 418/],
] as const) {
  test(`an answer that ${what} is ${fault === null ? 'no fault' : 'a fault'}, whatever the client`, async (t) => {
    const server = createServer((request, response) => {
      const about = request.url === '/openapi.json' ? JSON.stringify(DOCUMENT) : body
      response.writeHead(request.url === '/openapi.json' ? 200 : status, {
        'content-type': 'application/json',
      })
      response.write(about.slice(0, 3))
      response.end(about.slice(3))
    })
    t.after(() => server.close())
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
    const { port } = server.address() as AddressInfo
    const url = `http://localhost:${port}`
    const judge = watchAnswers(port, { NAME: 'every-answer.test.ts' })
    await (await fetch(`${url}/thing`)).text()
    if (fault === null) await judge(url)
    else await assert.rejects(judge(url), fault)
  })
}
