import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask } from '../../../../../test/support/ask.ts'
import { downloadExample } from '../../../../../test/support/examples.ts'
import { ROOT, startTestService, tempDir } from '../../../../../test/support/service.ts'
import { readContents } from '../../../../../tools/docs/compile-book.ts'
import { unescaped } from '../support/html.ts'

const BASE_URL = 'https://agents.example:8443'
const EXAMPLES = readContents(ROOT)
  .groups.flatMap(({ pages }) => pages)
  .filter(({ files }) => files !== undefined)
  .map(({ name, files = [] }) => ({ path: `/docs/${name}`, name: name.slice(9), files }))
/** What the commands of examples make: secrets, builds and packages. */
const IGNORED = readFileSync(join(ROOT, 'examples/.gitignore'), 'utf8').match(/[\w.-]+/g) ?? []

function filesOf(folder: string): string[] {
  return globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(folder.length + 1))
    .filter((path) => ![...IGNORED, 'node_modules'].some((name) => path.split('/').includes(name)))
    .sort()
}

test('an example is downloaded with all its files, and with the addresses of the deployment', async (t) => {
  const service = await startTestService(t, { BASE_URL })
  assert.ok(EXAMPLES.length >= 10)
  for (const { name } of EXAMPLES) {
    const home = tempDir(t)
    await downloadExample(home, name, service)
    const written = join(ROOT, 'examples', name)
    assert.deepEqual(filesOf(join(home, name)), filesOf(written), name)
    for (const path of filesOf(written)) {
      const served = readFileSync(join(home, name, path), 'utf8')
      assert.doesNotMatch(served, /localhost:8080|id\.example|[\ue000-\uf8ff]/, path)
      if (path === 'README.md') {
        const links = [...served.matchAll(/\]\(([^)]+)\)/g)].map(([, url]) => url as string)
        for (const url of links) assert.match(url, /^https:/, name)
      } else {
        const source = readFileSync(join(written, path), 'utf8')
        assert.equal(served, source.replaceAll('http://localhost:8080', BASE_URL), path)
      }
    }
  }
})

test('every download of an example has the same bytes, and is revalidated', async (t) => {
  const services = [
    await startTestService(t, { BASE_URL }),
    await startTestService(t, { BASE_URL }),
  ]
  for (const { path } of EXAMPLES) {
    const answers = await Promise.all(services.map(({ url }) => fetch(`${url}${path}.tgz`)))
    const [first, second] = await Promise.all(answers.map((each) => each.bytes()))
    assert.deepEqual(first, second, path)
    const etag = answers[0]?.headers.get('etag') ?? ''
    const known = { headers: { 'if-none-match': etag } }
    assert.equal((await fetch(`${services[1]?.url}${path}.tgz`, known)).status, 304)
  }
})

test('the page of an example has the download as its first command, and every file', async (t) => {
  const service = await startTestService(t, { BASE_URL })
  const { text: llms } = await ask(service, '/llms.txt')
  const { text: index } = await ask(service, '/docs/examples')
  for (const { path, name, files } of EXAMPLES) {
    const { text: markdown } = await ask(service, `${path}.md`)
    const [, first] = /```sh\n(.*)\n/.exec(markdown) ?? []
    assert.equal(first, `curl -sS ${BASE_URL}${path}.tgz | tar -xz && cd ${name}`)
    const { text: html } = await ask(service, path)
    for (const file of files) {
      assert.ok(markdown.includes(`### ${file}\n`), `${name}: ${file}`)
      const source = readFileSync(join(ROOT, 'examples', name, file), 'utf8')
      const code = source.replaceAll('http://localhost:8080', BASE_URL)
      assert.ok(markdown.includes(`\n${code}\`\`\`\n`), `${name}: ${file}`)
      assert.ok(unescaped(html.replaceAll(/<[^>]*>/g, '')).includes(code), `${name}: ${file}`)
    }
    assert.ok(llms.includes(`](${BASE_URL}${path}.md)`), name)
    assert.ok(index.includes(`href="${path}"`), name)
  }
})
