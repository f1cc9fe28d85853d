import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { GENERATED } from './generated.ts'
import { withPart } from './marked-part.ts'
import { sdkReference } from './sdk-section.ts'

const ROOT = join(import.meta.dirname, '../..')

test('the generated parts of docs/ are up to date: npx node tools/write-docs.ts', () => {
  for (const { file, write } of GENERATED) {
    const page = readFileSync(join(ROOT, file), 'utf8')
    assert.equal(write(ROOT, page), page, file)
  }
})

test('the SDK reference has every export with its signature and doc comment', () => {
  const pages = sdkReference(ROOT)
  const reference = [...pages.values()].join('\n\n')
  for (const name of ['Agent', 'Registry', 'agentSignIn', 'CountersignError', 'keyFromFile']) {
    assert.ok(reference.includes(`\n### ${name}\n`), name)
  }
  assert.match(reference, /### Agent\.claim\n\n```ts\nclaim\(/)
  assert.match(reference, /- Throws CountersignError TOKEN_EXPIRED/)
  const tasks = [...reference.matchAll(/^## (.+)$/gm)].map(([, title]) => title)
  assert.deepEqual(tasks.slice(0, 3), [
    'Create an agent',
    'Keys',
    'Claim and renounce a certificate',
  ])
  assert.match(pages.get('errors') ?? '', /^## Errors\n.*^## Other types\n/ms)
  for (const [name, text] of pages) assert.ok(text.length < reference.length / 3, name)
  const headings = [...reference.matchAll(/^### (.+)$/gm)].map(([, name]) => name)
  assert.deepEqual(headings, [...new Set(headings)])
  assert.doesNotMatch(reference, /#signer|private key is kept/)
})

test('a page without a generated part is refused', () => {
  assert.throws(() => withPart('# SDK\n', 'sdk', 'x'))
})
