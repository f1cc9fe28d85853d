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
import { readContents } from '../../../../../tools/docs/compile-book.ts'
import { keptIn } from '../../../../../tools/docs/name-template.ts'
import { Library } from '../../../src/pages/docs/library.ts'
import { TestLog, witnessLogsFile } from '../../log/cosigning/support.ts'
import { metaOf, textOf, unescaped } from '../support/html.ts'

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
    assert.doesNotMatch(main, /href="(?!https?:|\/|#|data:image\/)/, path)
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

test('a service name is shown as it is, also with HTML or what marks a place in the built pages', async (t) => {
  const SERVICE_NAME = '<i>"A" & \'B\'</i> $& \ue000\ue010\ue011claims\ue012x\ue013'
  const service = await startTestService(t, { SERVICE_NAME })
  for (const path of [...(await docsPaths(service)), '/docs/search?q=key']) {
    const { text: html } = await ask(service, path)
    assert.doesNotMatch(html, /<i>"?A/, path)
    const [, title = ''] = /<title>(.*?)<\/title>/.exec(html) ?? []
    assert.ok(unescaped(title).endsWith(SERVICE_NAME), path)
    assert.equal(html.match(/<a href="\/dashboard" class="py-1 /g)?.length, 1, path)
  }
  const document = JSON.parse((await ask(service, '/openapi.json')).text)
  assert.equal(document.info.title, SERVICE_NAME)
})

test('no page has the default names, a placeholder or a stand-in of the build', async (t) => {
  const service = await startTestService(t, {
    SHORT_NAME: 'acme',
    ID_HEADER: 'AcmeID',
    SERVICE_NAME: 'Acme',
    BASE_URL: 'https://agents.example:8443',
  })
  const defaults = /\bsvc(?=:agent|-verify|-challenge|Did)|\bServiceID\b|\bCountersign\b/g
  const assertNames = async (path: string, keptText: string) => {
    const { status, text } = await ask(service, path)
    assert.equal(status, 200, path)
    assert.doesNotMatch(text, /[\ue000-\uf8ff]|qwz/i, path)
    assert.deepEqual(text.match(defaults), keptText.match(defaults), path)
  }
  for (const { name, file } of readContents(ROOT).groups.flatMap(({ pages }) => pages)) {
    const kept = keptIn(readFileSync(join(ROOT, file), 'utf8')).join('\n')
    await assertNames(`/docs/${name}.md`, kept)
    const { text: html } = await ask(service, `/docs/${name}`)
    assert.doesNotMatch(html, /[\ue000-\uf8ff]|qwz/i, name)
  }
  const references = (await docsPaths(service)).filter((path) => path.startsWith('/docs/api'))
  assert.ok(references.length > 5)
  for (const path of ['/docs', '/openapi.json', '/skill.md', '/llms.txt', ...references])
    await assertNames(path, '')
})

test('the HTTP reference has what the settings of the service add', async (t) => {
  const none = await startTestService(t, { RATE_LIMITS: 'off' })
  const some = await startTestService(t, {
    RATE_LIMITS: 'sign-ups=1000/h',
    PREVIEWS: 'card-formats',
    WITNESS_LOGS: witnessLogsFile(t, [new TestLog()]),
  })
  const has = async (service: TestService, path: string, text: RegExp) =>
    text.test((await ask(service, path)).text)
  for (const [path, text] of [
    ['/docs/api/sign-in', /aria-labelledby="signUp">(?:(?!<\/article>).)*<code>RATE_LIMITED</s],
    ['/openapi.json', /"\/api\/sign-up":(?:(?!"\/api\/sign-up\/).)*"429":/s],
    ['/openapi.json', /"\/witness"/],
    ['/docs/api/log', /aria-labelledby="addCheckpoint"/],
    ['/docs/search?q=witness', /href="\/docs\/api\/log#witness"/],
    ['/docs/api/cards', /in the format of the Accept header/],
  ] as const) {
    assert.deepEqual(
      [await has(none, path, text), await has(some, path, text)],
      [false, true],
      path,
    )
  }
})

test('documentation that has not been built answers 503 and names the build command', (t) => {
  const library = new Library(tempDir(t), {
    naming: namingFor(),
    serviceName: 'x',
    baseUrl: 'http://localhost:8080',
    limits: new Set(),
    features: { witness: false, cardFormats: false },
  })
  assert.throws(() => library.text('pages/agents.md'), {
    code: 'UNAVAILABLE',
    message: /npm run build/,
  })
  assert.throws(() => library.has('pages/agents.md'), { code: 'UNAVAILABLE' })
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
  const question = await search('How do I rotate a key?')
  const [first] = question.matchAll(/<li class="min-w-0"><a href="(\/docs\/[^"]+)"/g)
  assert.equal(first?.[1], '/docs/key-recovery#replace-a-key-rotation')
  assert.doesNotMatch(question, /<mark [^>]*>(?:do|a|how)<\/mark>/i)
  for (const [, marked = ''] of question.matchAll(/<mark [^>]*>([^<]+)<\/mark>/g))
    assert.match(marked, /^(?:key|rotat)/i)
  assert.match(await search('verifyRequest'), /href="\/docs\/api\/check#verifyRequest"/)
  assert.match(textOf(await search('zzzz')), /No results/)
  for (const nothing of ['', '   ', '.*', '("']) {
    assert.doesNotMatch(await search(nothing), /<mark/)
  }
  const markup = await search('"><script>alert(1)</script>')
  assert.ok(!markup.includes('<script>alert'))
  // No section has all words: those with the most are shown.
  assert.match(await search('mcp zzzz'), /<mark [^>]*>mcp<\/mark>/i)
  assert.match(textOf(await search('zzzz '.repeat(300))), /No results/)
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
