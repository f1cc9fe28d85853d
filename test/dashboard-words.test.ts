import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { forbiddenWordsIn } from './support/forbidden-words.ts'
import { ROOT } from './support/service.ts'

const SOURCES = join(ROOT, 'packages/dashboard/src')

test('the sources of the dashboard use the standard terms', () => {
  const files = globSync('**/*.{ts,tsx}', { cwd: SOURCES })
  assert.ok(files.length > 100, `${files.length} files`)
  const found = files.flatMap((file) => {
    const text = readFileSync(join(SOURCES, file), 'utf8').replaceAll(/\s+/g, ' ')
    return forbiddenWordsIn(text).map((each) => `${file}: ${each}`)
  })
  assert.deepEqual(found, [])
})

test('forbidden wordings are found, and the standard terms are not', () => {
  for (const text of ['Whoever has it', 'It is good until 3 March.', 'Make it. Nothing yet.']) {
    assert.equal(forbiddenWordsIn(text).length, 1, text)
  }
  assert.deepEqual(forbiddenWordsIn('Sign in with a single-use link. Expires in ten minutes.'), [])
})
