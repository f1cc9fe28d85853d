import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { namingFor } from '@countersign/protocol'
import { ask } from '../../../../../test/support/ask.ts'
import {
  ROOT,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../../test/support/service.ts'
import { openLibrary } from '../../../src/pages/docs/library.ts'
import { metaOf, textOf } from '../support/html.ts'

/** Paths of all documentation pages, from the links of the index. */
async function docsPaths(service: TestService): Promise<string[]> {
  const { text } = await ask(service, '/docs')
  const links = [...text.matchAll(/href="(\/docs\/[\w/-]+)"/g)].map(([, path]) => path as string)
  return ['/docs', ...new Set(links)]
}

test('the documentation index links each role to its first page', async (t) => {
  const service = await startTestService(t)
  const { status, headers, text: html } = await ask(service, '/docs')
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
  const text = textOf(html)
  for (const who of ['owners', 'agents', 'relying parties', 'operators']) {
    assert.ok(text.includes(`Quick start for ${who}`), who)
  }
  const paths = await docsPaths(service)
  for (const name of [
    'gateways',
    'sdk',
    'api',
    'configuration',
    'operating',
    'monitoring',
    'security',
    'contract-endpoints',
    'channels',
  ]) {
    assert.ok(paths.includes(`/docs/${name}`), name)
  }
})

test('every link within the documentation resolves, including its heading', async (t) => {
  const service = await startTestService(t)
  const pages = new Map<string, string>()
  const htmlOf = async (path: string) => {
    const known = pages.get(path)
    if (known !== undefined) return known
    const { status, text } = await ask(service, path)
    assert.equal(status, 200, path)
    pages.set(path, text)
    return text
  }
  let followed = 0
  for (const path of await docsPaths(service)) {
    const main = /<main.*<\/main>/s.exec(await htmlOf(path))?.[0] ?? ''
    const links = [
      ...main.matchAll(/href="((?:\/(?:docs|check|openapi|skill|llms)[^"#]*)?)(#[^"]*)?"/g),
    ]
    for (const [, to = '', fragment] of links) {
      followed += 1
      const target = await htmlOf(to === '' ? path : to)
      const id = fragment?.slice(1)
      if (id) assert.ok(target.includes(`id="${id}"`), `${path}: ${to}${fragment}`)
    }
    // No link may point to a file that only the repository has.
    assert.doesNotMatch(main, /href="(?!https?:|\/|#)/, path)
  }
  assert.ok(followed > 200)
})

test('every documentation page has a title, a summary, a canonical URL and unique ids', async (t) => {
  const service = await startTestService(t)
  for (const path of await docsPaths(service)) {
    const { text: html } = await ask(service, path)
    assert.match(metaOf(html, 'title'), / · Countersign$/)
    assert.ok(metaOf(html, 'description').length > 20, path)
    assert.ok(html.includes(`<link rel="canonical" href="${service.url}${path}"/>`), path)
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    assert.deepEqual(ids, [...new Set(ids)], path)
    assert.equal(html.match(/<h1/g)?.length, 1, path)
  }
})

test('every documentation page is also served as Markdown', async (t) => {
  const service = await startTestService(t)
  const { text: html } = await ask(service, '/docs/security')
  const { text: markdown } = await ask(service, '/docs/security.md')
  const written = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8')
  for (const [, sentence = ''] of written.matchAll(/^- ([A-Z][\w ]{20,60})/gm)) {
    assert.ok(textOf(html).includes(sentence), sentence)
    assert.ok(markdown.includes(sentence), sentence)
  }
  assert.match(html, /<link rel="alternate" type="text\/markdown" href="\/docs\/security\.md"\/>/)
})

test('a service name with HTML in it is shown as text in the documentation', async (t) => {
  const service = await startTestService(t, { SERVICE_NAME: '<i>"A" & \'B\'</i>' })
  for (const path of await docsPaths(service)) {
    const { text: html } = await ask(service, path)
    assert.doesNotMatch(html, /<i>"?A/, path)
  }
})

test('documentation that has not been built answers 503 and names the build command', (t) => {
  const names = { naming: namingFor(), serviceName: 'x', baseUrl: 'http://localhost:8080' }
  const library = openLibrary(tempDir(t), names)
  assert.throws(() => library.page('agents'), { code: 'UNAVAILABLE', message: /npm run build/ })
  assert.throws(() => library.groups, { code: 'UNAVAILABLE' })
})

test('the search finds headings before texts, and shows what matched without markup', async (t) => {
  const service = await startTestService(t)
  const search = async (q: string) => {
    const { status, text } = await ask(service, `/docs/search?${new URLSearchParams({ q })}`)
    assert.equal(status, 200)
    return text
  }
  const html = await search('mcp')
  const results = [...html.matchAll(/<li class="min-w-0"><a href="(\/docs\/[^"]+)"/g)]
  assert.ok(results.length > 1 && results.length <= 20)
  assert.match(results[0]?.[1] ?? '', /mcp/)
  assert.match(html, /<mark [^>]*>mcp<\/mark>/i)
  for (const [, path = ''] of results) {
    const [page = '', fragment] = path.split('#')
    const { text } = await ask(service, page)
    assert.ok(fragment === undefined || text.includes(`id="${fragment}"`), path)
  }
  assert.match(await search('verifyRequest'), /href="\/docs\/api\/check#verifyRequest"/)
  assert.match(textOf(await search('zzzz')), /No results/)
  for (const nothing of ['', '   ', '.*', '("']) {
    assert.doesNotMatch(await search(nothing), /<mark/)
  }
  const markup = await search('"><script>alert(1)</script>')
  assert.ok(!markup.includes('<script>alert'))
  const long = await search(`mcp ${'zzzz '.repeat(300)}`)
  assert.match(textOf(long), /No results/)
  assert.equal((await ask(service, '/docs/search?q=a&q=b')).status, 200)
})

test('previous and next lead through every page of the documentation', async (t) => {
  const service = await startTestService(t)
  const paths = new Set((await docsPaths(service)).filter((path) => path !== '/docs'))
  let path: string | undefined = '/docs/owners'
  let previous: string | undefined
  while (path !== undefined) {
    assert.ok(paths.delete(path), `${path} comes once`)
    const { text } = await ask(service, path)
    assert.equal(/<a href="([^"]+)" rel="prev"/.exec(text)?.[1], previous)
    previous = path
    path = /<a href="([^"]+)" rel="next"/.exec(text)?.[1]
  }
  assert.deepEqual([...paths], [])
})
