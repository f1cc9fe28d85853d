import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { blocksOf } from './support/doc-page.ts'
import { ROOT } from './support/service.ts'

const PAGES = globSync(['*.md', 'docs/*.md', '{packages,examples}/*/README.md'], {
  cwd: ROOT,
}).sort()

test('every code block of the documentation is run by a test or gives a reason why not', async (t) => {
  assert.ok(PAGES.length >= 18)
  for (const page of PAGES) {
    await t.test(page, () => {
      const undecided = blocksOf(page).filter(({ fate }) => fate === null)
      assert.deepEqual(
        undecided.map(({ line, heading }) => `${page}:${line} ${heading}`),
        [],
        'put <!-- run by <test> --> or <!-- not run: <reason> --> above each',
      )
    })
  }
})

/** Frameworks that are not where the tests run; a test runs the module that these blocks connect. */
const NOT_INSTALLED = ['docs/sessions.md Django', 'docs/sessions.md Rails']

test('every tab of every page is run', () => {
  const notRun = PAGES.flatMap((page) =>
    blocksOf(page)
      .filter(({ tab, fate }) => tab !== null && fate?.kind !== 'run')
      .map(({ tab }) => `${page} ${tab}`),
  )
  assert.deepEqual(notRun, NOT_INSTALLED)
})

test('the test named for a block exists and reads the page', () => {
  for (const page of PAGES) {
    for (const { line, fate } of blocksOf(page)) {
      if (fate?.kind !== 'run') continue
      const place = `${page}:${line}: ${fate.test}`
      assert.ok(existsSync(join(ROOT, fate.test)), place)
      const source = readFileSync(join(ROOT, fate.test), 'utf8')
      const named = [
        page,
        `'${basename(page, '.md')}'`,
        basename(page),
        /^[A-Z]/.test(basename(page)) ? 'README' : page,
      ]
      assert.ok(
        named.some((name) => source.includes(name)),
        `${place} does not name the page`,
      )
      // Who reads a page this way has to take every block that is theirs.
      if (source.includes('new DocPage(')) assert.ok(source.includes('.assertAllTaken()'), place)
    }
  }
})

test('the reasons not to run a block are meaningful, and the files they name exist', () => {
  for (const page of PAGES) {
    for (const { line, fate } of blocksOf(page)) {
      if (fate?.kind !== 'not run') continue
      assert.ok(fate.reason.split(' ').length >= 4, `${page}:${line}: ${fate.reason}`)
      for (const [path] of fate.reason.matchAll(/[\w./-]+\.test\.ts/g)) {
        assert.ok(existsSync(join(ROOT, path)), `${page}:${line}: ${path}`)
      }
    }
  }
})
