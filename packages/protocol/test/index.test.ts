import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import * as protocol from '../src/index.ts'

/** What only the wire schemas use among themselves. */
const INTERNAL = new Set(['wire/formats.ts', 'wire/nullable.ts', 'wire/responsible.ts'])

const source = new URL('../src/', import.meta.url)

test('the package exports whatever its files export', async () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && file !== 'index.ts' && !INTERNAL.has(file))
    .sort()
  assert.ok(files.length > 15)
  const exported = new Map<string, unknown>()
  for (const file of files) {
    const module: Record<string, unknown> = await import(new URL(file, source).href)
    for (const [name, value] of Object.entries(module)) exported.set(name, value)
  }
  assert.deepEqual(Object.keys(protocol).sort(), [...exported.keys()].sort())
  for (const [name, value] of Object.entries(protocol)) assert.equal(value, exported.get(name))
})
