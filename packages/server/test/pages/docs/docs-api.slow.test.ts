import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ERROR_STATUS } from '@countersign/protocol'
import { ask } from '../../../../../test/support/ask.ts'
import { type Operation, openApiOf } from '../../../../../test/support/openapi.ts'
import { startTestService, type TestService, tempDir } from '../../../../../test/support/service.ts'
import { shellInCheckout } from '../../../../../test/support/shell.ts'
import { needs } from '../../../../../test/support/tools.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { unescaped } from '../support/html.ts'

/** Of the HTML of a page; one with all operations for owners had 611,666. */
const MOST_BYTES = 122_000

interface Told extends Operation {
  readonly summary: string
  readonly method: string
  readonly path: string
  readonly tag: string
}

async function operationsOf(service: TestService): Promise<Told[]> {
  const { document } = await openApiOf(service)
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...(operation as Told),
      method: method.toUpperCase(),
      path,
      tag: operation.tags?.[0] ?? '',
    })),
  )
}

/** Where the index links each operation. */
async function placesOf(service: TestService): Promise<Map<string, string>> {
  const { text } = await ask(service, '/docs/api')
  const links = text.matchAll(/href="(\/docs\/api\/[\w-]+)#(\w+)"/g)
  return new Map(Array.from(links, ([, path = '', id = '']) => [id, path]))
}

type Sections = ReadonlyMap<string, string>

/** The section of each operation by its id, and the text of each page under `errors` by its path. */
async function sectionsOf(service: TestService): Promise<Sections> {
  const places = await placesOf(service)
  const sections = new Map<string, string>()
  for (const path of new Set(['/docs/api', ...places.values()])) {
    const { text } = await ask(service, path)
    const plain = unescaped(text.replaceAll(/<\/?(?:b|span)(?: [^>]*)?>/g, ''))
    sections.set(path, plain.slice(plain.indexOf('<h2 id="errors">')))
    for (const [, id = '', section = ''] of plain.matchAll(
      /<article aria-labelledby="(\w+)">(.*?)<\/article>/gs,
    )) {
      assert.equal(places.get(id), path, id)
      sections.set(id, section)
    }
  }
  return sections
}

/** The section of an operation. */
function sectionOf(sections: Sections, { operationId }: Told): string {
  const section = sections.get(operationId)
  assert.ok(section !== undefined, `${operationId} is in the HTTP reference`)
  return section
}

test('the HTTP reference has every operation of /openapi.json with all fields and error codes', async (t) => {
  const service = await startTestService(t)
  const sections = await sectionsOf(service)
  const places = await placesOf(service)
  const operations = await operationsOf(service)
  assert.ok(operations.length > 60)
  assert.equal(places.size, operations.length)
  for (const operation of operations) {
    const { operationId, method, path, summary } = operation
    const section = sectionOf(sections, operation)
    assert.ok(section.includes(`${method} ${path}`) && section.includes(summary), operationId)
    // Fields that an operation above it on the page has too are there only.
    const [, above = ''] = /The fields are those of <a href="#(\w+)"/.exec(section) ?? []
    const fields = section + (sections.get(above) ?? '')
    for (const name of fieldsIn(operation))
      assert.match(fields, new RegExp(`[ .\\]>]${name}[<. [\\]]`), `${operationId}: ${name}`)
    const codes = operation['x-errors'] ?? []
    assert.ok(codes.length >= 3)
    for (const code of codes) {
      const told = [operationId, places.get(operationId) ?? '', '/docs/api'].filter((place) =>
        paragraphOfErrors(sections.get(place) ?? '').includes(`<code>${code}</code>`),
      )
      assert.equal(told.length, 1, `${operationId}: ${code} in ${told.join()}`)
    }
  }
})

/** What an operation, its page or the index says of its errors. */
function paragraphOfErrors(section: string): string {
  for (const begin of ['Every operation can answer with ', 'Errors: ', '<h2 id="errors">']) {
    const start = section.indexOf(begin)
    if (start !== -1) return section.slice(start, section.indexOf('</p>', start))
  }
  return ''
}

test('no page of the HTTP reference has more than a fifth of what the owner API had on one', async (t) => {
  const service = await startTestService(t)
  for (const path of new Set((await placesOf(service)).values())) {
    const { text } = await ask(service, path)
    assert.ok(text.length < MOST_BYTES, `${path}: ${text.length}`)
  }
})

/** Names of all fields of bodies, except those of errors. */
function fieldsIn({ requestBody, responses }: Operation): string[] {
  const isRefusal = (response: object) => JSON.stringify(response).includes('"examples"')
  const schemas = [requestBody, ...Object.values(responses).filter((each) => !isRefusal(each))]
  const names = new Set<string>()
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { properties } = value as { properties?: object }
    for (const name of Object.keys(properties ?? {})) names.add(name.replaceAll('$', '\\$'))
    for (const each of Object.values(value)) collect(each)
  }
  collect(schemas)
  return [...names]
}

test('the HTTP reference lists every error code with its status', async (t) => {
  const service = await startTestService(t)
  const { text } = await ask(service, '/docs/api')
  for (const [code, status] of Object.entries(ERROR_STATUS)) {
    assert.ok(text.includes(`<code>${code}</code></td><td>${status}</td>`), code)
  }
})

test(
  'every curl command of the HTTP reference runs and is understood by the service',
  needs('curl'),
  async (t) => {
    const service = await startTestService(t, { SHORT_NAME: 'acme', ID_HEADER: 'AcmeID' })
    await untilTicked(service, async () => {
      return (await ask(service, '/api/v1/feed/latest')).status === 200
    })
    const dir = tempDir(t)
    const shell = shellInCheckout(dir, { API_KEY: 'unknown', SCIM_TOKEN: 'unknown' })
    t.after(() => shell.close())
    writeFileSync(join(dir, 'cookies.txt'), '')
    writeFileSync(join(dir, 'picture.png'), 'no picture')
    const sections = await sectionsOf(service)
    for (const operation of await operationsOf(service)) {
      const section = sectionOf(sections, operation)
      const [, command = ''] = /<pre[^>]*><code>(curl .*?)<\/code><\/pre>/s.exec(section) ?? []
      assert.ok(command.includes(service.url), operation.operationId)
      // Without a session the event stream is refused; otherwise curl would not end.
      const answer = await shell.run(
        `${command} -o answer -w '%{http_code} %{method}' && echo && cat answer`,
      )
      const [line = '', body = ''] = answer.split(/\n(.*)/s)
      const [status, method] = line.split(' ')
      assert.equal(method, operation.method, command)
      const code = /"code":"(\w+)"/.exec(body)?.[1]
      // The requests are valid but for the missing session and the example agent, which does not exist.
      const expected = [
        'NOT_FOUND',
        'UNAUTHENTICATED',
        'INVALID_SIGNATURE',
        'UNSUPPORTED_MEDIA_TYPE',
        'VALIDATION_ERROR',
      ]
      if (!/^[23]/.test(status ?? ''))
        assert.ok(expected.includes(code ?? ''), `${command}\n${answer}`)
      if (code === 'VALIDATION_ERROR')
        assert.doesNotMatch(body, /"(body|params|querystring|headers)/, command)
    }
  },
)

test('the API reference marks what is required, shows a response, and offers to try what needs no secret', async (t) => {
  const service = await startTestService(t)
  const { text: check } = await ask(service, '/docs/api/check')
  assert.match(check, /<code>publicKey<\/code><span class="api-required"> required<\/span>/)
  assert.match(check, /<code>audience<\/code><span class="api-optional"> optional<\/span>/)
  const sections = await sectionsOf(service)
  for (const operation of await operationsOf(service)) {
    const section = sectionOf(sections, operation)
    assert.doesNotMatch(section, /<td>[^<]*\^\[/, `${operation.operationId} shows a pattern`)
    const isOpen = ['check', 'show', 'resolve', 'learn'].includes(operation.tag)
    const isTried = operation.method === 'GET' && isOpen
    assert.equal(section.includes(`data-try="${operation.path}"`), isTried, operation.operationId)
  }
  const lookup = (await operationsOf(service)).find((each) => each.operationId === 'lookup')
  assert.ok(lookup !== undefined)
  const section = sectionOf(sections, lookup).replaceAll(/<[^>]*>/g, '')
  const [, json = ''] = /Example:(\{.*?\n\})/s.exec(section) ?? []
  assert.equal(typeof JSON.parse(json).verified, 'boolean')
})
