import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './support/service.ts'

const PAGES = globSync(
  [
    '{README,ARCHITECTURE,CONTRIBUTING,SECURITY}.md',
    'docs/**/*.md',
    '{test/faults,bench,examples/*}/README.md',
  ],
  { cwd: ROOT },
).sort()
const SOURCES = globSync(['packages/*/src/**', 'test/faults/**', 'bench/**'], { cwd: ROOT })
/** A path in backticks: of the repository, of a source or Markdown file, or of a folder. Globs and placeholders are none. */
const FROM_ROOT = /^(?:bench|deploy|docs|examples|go|packages|python|test|tools|vectors)\//
const SOURCE = /[\w-]\.(?:ts|tsx|mjs|md)$/
const FOLDER = /^[\w.-]+(?:\/[\w.-]+)*\/$/

test('every path in the documentation exists', async (t) => {
  assert.ok(PAGES.length > 40, `${PAGES.length} pages`)
  for (const page of PAGES) {
    await t.test(page, () => {
      assert.deepEqual(missing(page, readFileSync(join(ROOT, page), 'utf8')), [])
    })
  }
})

test('a wrong path is found; placeholders, globs and code blocks are not paths', () => {
  for (const wrong of [
    '`agents/keys/rotates.ts`',
    '`keys/rotate.test.ts`',
    '`test/support/none.ts`',
    '`docs/none.md`',
    '`no-such-folder/`',
    '[x](none.md#there)',
  ])
    assert.equal(missing('docs/agents.md', wrong).length, 1, wrong)
  for (const right of [
    '`agents/keys/rotate.ts`',
    '`agents/keys/rotate.test.ts`',
    '`key-use.ts`, `read-model/`',
    '`test/support/service.ts`',
    '`docs/<page>.md`, `vectors/*.json`, `/agent/none.ts`, `@scope/none`, `none.json`',
    '```sh\ncat `none.ts`\n```',
    '[x](channels.md#there), [y](https://a.example/none.md), [z](#there), [o](/openapi.json)',
  ])
    assert.deepEqual(missing('docs/agents.md', right), [], right)
})

test('a row of docs/contract has a test and at most 300 characters, one of docs/decisions 200', () => {
  for (const [page, most, pattern] of [
    ['docs/contract', 300, /`[^`]+\.(?:test\.ts|json)` \|$/],
    ['docs/decisions', 200, / \|$/],
  ] as const) {
    const rows = PAGES.filter((path) => path.startsWith(`${page}/`)).flatMap((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .split('\n')
        .filter((line) => /^\| (?!open point|choice|---)/.test(line)),
    )
    assert.ok(rows.length > 60, `${page}: ${rows.length}`)
    for (const row of rows) {
      assert.ok([...row].length <= most, `${[...row].length} characters: ${row}`)
      assert.match(row, pattern)
    }
  }
})

/** @returns the paths and links of a page that lead to no file or folder */
function missing(page: string, markdown: string): string[] {
  const text = markdown.replaceAll(/^ *(`{3,})[^\n]*\n.*?^ *\1$/gms, '')
  const links = [...text.matchAll(/\]\((?![a-z]+:|[#/])([^)#\s]+)/g)].map((m) => m[1] as string)
  const paths = [...text.matchAll(/`([\w./-]+)`/g)].map((m) => m[1] as string)
  return [
    ...links.filter((link) => !existsSync(join(ROOT, dirname(page), link))),
    ...paths.filter((path) => isPath(path) && !exists(path)),
  ]
}

function isPath(text: string): boolean {
  if (text.startsWith('/')) return false
  return FROM_ROOT.test(text) || SOURCE.test(text) || FOLDER.test(text)
}

/** Paths are full, or short: a test's from `packages/server/test`, any other the end of a source's path. */
function exists(path: string): boolean {
  if (existsSync(join(ROOT, path))) return true
  if (path.endsWith('.test.ts')) return existsSync(join(ROOT, 'packages/server/test', path))
  const end = `/${path.replace(/\/$/, '')}`
  return SOURCES.some((file) => file.endsWith(end))
}
