import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { compileBook, readContents } from './compile-book.ts'

const ROOT = join(import.meta.dirname, '../..')

test('every page of docs/ is in docs/contents.json', () => {
  const files = readContents(ROOT).groups.flatMap(({ pages }) => pages.map(({ file }) => file))
  const there = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
  for (const name of there) assert.ok(files.includes(`docs/${name}`), name)
  assert.equal(new Set(files).size, files.length)
})

/** Compiles one page in a book of two. */
function compiled(t: { after(end: () => void): void }, markdown: string, figure = '') {
  const root = mkdtempSync(join(tmpdir(), 'countersign-book-'))
  t.after(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'docs/images'), { recursive: true })
  writeFileSync(join(root, 'docs/images/figure.svg'), figure)
  const pages = ['one', 'two'].map((name) => ({ name, file: `docs/${name}.md`, summary: name }))
  writeFileSync(
    join(root, 'docs/contents.json'),
    JSON.stringify({ groups: [{ title: 'All', pages }] }),
  )
  writeFileSync(join(root, 'docs/one.md'), markdown)
  writeFileSync(join(root, 'docs/two.md'), '# Two\n')
  const [page] = compileBook(root).pages
  assert.ok(page)
  return page
}

test('HTML in Markdown is escaped, comments are removed, and code is not changed', (t) => {
  const { html, markdown } = compiled(
    t,
    '# One\n\n<script>alert(1)</script> <b onclick="x">b</b>\n<!-- a\ncomment -->\n\n[x](javascript:alert(1))\n\n```html\n<!-- kept --> <i>&amp;</i>\n[two](two.md)\n```\n',
  )
  assert.doesNotMatch(html, /<(script|b|i)[ >]|<a /)
  assert.match(html, /&lt;script&gt;/)
  const code = html.replaceAll(/<\/?span[^>]*>/g, '')
  assert.match(code, /&lt;!-- kept --&gt; &lt;i&gt;&amp;amp;&lt;\/i&gt;\n\[two\]\(two\.md\)/)
  assert.doesNotMatch(markdown, /a\ncomment/)
})

test('an SVG is part of the page, without its style, and other pictures are an error', (t) => {
  const svg =
    '<svg role="img" aria-label="A key"><style>svg{color:red}</style><path d="M0 0"/></svg>\n'
  const { html, markdown } = compiled(t, '# One\n\nA\n\n![A key](images/figure.svg)\n\nB\n', svg)
  const inPage = '<svg role="img" aria-label="A key"><path d="M0 0"/></svg>'
  assert.equal(html, `<p>A</p>\n<figure class="doc-figure">${inPage}</figure>\n<p>B</p>\n`)
  assert.match(markdown, /^Figure: A key$/m)
  for (const wrong of [
    '![x](images/x.png)',
    '![x](https://a.example/x.svg)',
    'a ![x](images/figure.svg)',
  ]) {
    assert.throws(() => compiled(t, `# One\n\n${wrong}\n`), /shows a picture/)
  }
})

test('links lead to served pages, and links to files of the repository become text', (t) => {
  const { html, markdown } = compiled(
    t,
    '# One\n\n[two](two.md#x), [root](../docs/two.md), [test](../test/x.test.ts), [out](https://a.example/), [here](#h)\n',
  )
  assert.match(html, /<a href="\/docs\/two#x">two<\/a>, <a href="\/docs\/two">root<\/a>, test, /)
  assert.match(html, /<a href="https:\/\/a\.example\/">out<\/a>, <a href="#h">here<\/a>/)
  assert.match(markdown, /\[two\]\(two\.md#x\), \[root\]\(two\.md\), test, /)
})

test('headings have unique ids, and code and tables can be scrolled with the keyboard', (t) => {
  const { html, headings } = compiled(
    t,
    '# One\n\n## A `b` c!\n\n## A b c\n\n|x|\n|-|\n|y|\n\n```sh\nls\n```\n',
  )
  assert.deepEqual(
    headings.map(({ id, text, level }) => [id, text, level]),
    [
      ['a-b-c', 'A b c!', 2],
      ['a-b-c-1', 'A b c', 2],
    ],
  )
  assert.match(html, /<h2 id="a-b-c">/)
  assert.match(html, /<div class="doc-table" [^>]*tabindex="0"><table>/)
  assert.match(
    html,
    /<pre tabindex="0"><code><span class="hl-built_in">ls<\/span>\n<\/code><\/pre>/,
  )
  assert.match(html, /<button type="button" class="code-copy" data-copy="">/)
})

test('adjacent code blocks with labels become tabs, and all others stay as they are', (t) => {
  const block = (info: string, code: string) => `\`\`\`${info}\n${code}\n\`\`\`\n`
  const { html } = compiled(
    t,
    `# One\n\n${block('sh tab="curl"', 'curl x')}\n${block('js tab="<b>"', 'x()')}\ntext\n\n${block('sh tab="curl"', 'y')}\n${block('sh', 'z')}`,
  )
  const names = [...html.matchAll(/<input type="radio" id="([^"]+)" name="([^"]+)"( checked)?>/g)]
  assert.deepEqual(
    names.map(([, id, name, checked]) => [id, name, checked !== undefined]),
    [
      ['tabs-1-1', 'tabs-1', true],
      ['tabs-1-2', 'tabs-1', false],
      ['tabs-2-1', 'tabs-2', true],
    ],
  )
  assert.match(
    html,
    /<label for="tabs-1-2">&lt;b&gt;<\/label><div class="doc-tab"><div class="code">/,
  )
  assert.equal(html.match(/<pre /g)?.length, 4)
})

test('a page without a title, with a picture or with a plain service URL is refused', (t) => {
  for (const markdown of [
    'text',
    '# One\n\n![x](y.png)\n',
    '# One\n\n<http://localhost:8080/x>\n',
  ]) {
    assert.throws(() => compiled(t, markdown))
  }
})
