import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { forbiddenWords } from './support/forbidden-words.ts'
import { ROOT } from './support/service.ts'

const SOURCES = join(ROOT, 'packages/dashboard/src')

test('the sources of the dashboard use the standard terms', () => {
  const files = globSync('**/*.{ts,tsx}', { cwd: SOURCES })
  assert.ok(files.length > 100, `${files.length} files`)
  const found = files.flatMap((file) => {
    const text = readFileSync(join(SOURCES, file), 'utf8')
    return forbiddenWords(text).map((each) => `${file}: ${each}`)
  })
  assert.deepEqual(found, [])
})
