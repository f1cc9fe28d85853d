import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { forbiddenWords } from './support/forbidden-words.ts'
import { ROOT } from './support/service.ts'

const PAGES = globSync(
  ['*.md', 'docs/**/*.md', 'packages/*/README.md', 'deploy/prometheus/*.yml'],
  { cwd: ROOT },
).sort()

test('the documentation and the alarms use the standard terms', async (t) => {
  assert.ok(PAGES.length > 20, `${PAGES.length} pages`)
  for (const page of PAGES) {
    await t.test(page, () => {
      assert.deepEqual(forbiddenWords(prose(readFileSync(join(ROOT, page), 'utf8'))), [])
    })
  }
})

test('a forbidden word is found across lines, with the word to use, and standard terms are not', () => {
  assert.deepEqual(
    forbiddenWords('An operator signs in with a single-use link. Claims are in order of time.'),
    [],
  )
  const [found = ''] = forbiddenWords('Whoever\nruns this.')
  assert.match(found, /^“whoever” \(write: .*\) in “Whoever runs this\.”$/)
  for (const text of ['It is good\nuntil 3 March.', 'Make it. Nothing yet.', 'Claim it anew.'])
    assert.equal(forbiddenWords(text).length, 1, text)
  assert.deepEqual(prose('a\n```sh\nwhoever\n```\nb `whoever` c <!-- run by x -->'), 'a\n\nb  c ')
})

/** A page without its code and comments. */
function prose(markdown: string): string {
  return markdown
    .replaceAll(/^ *(`{3,})[^\n]*\n.*?^ *\1$/gms, '')
    .replaceAll(/<!--.*?-->/gs, '')
    .replaceAll(/`[^`\n]+`/g, '')
}
