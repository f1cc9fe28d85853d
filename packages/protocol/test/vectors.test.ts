import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { vectorsDirectory } from './support/vectors.ts'

const files = readdirSync(vectorsDirectory).filter((file) => file.endsWith('.json'))
const read = (file: string) => readFileSync(new URL(file, vectorsDirectory), 'utf8')

test('vectors are plain ASCII, so that what is not is written as an escape', () => {
  assert.ok(files.length > 10)
  for (const file of files) assert.match(read(file), /^[\n\x20-\x7e]*$/, file)
})

test('the README says how to read each file', () => {
  const readme = read('README.md')
  for (const file of files) assert.ok(readme.includes(`\`${file}\``), file)
})

test('in a list of cases each name is said once', () => {
  for (const file of files) assertNamesUnique(JSON.parse(read(file)), file)
})

function assertNamesUnique(value: unknown, where: string): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    const names = value.map((each) => each?.name).filter((name) => name !== undefined)
    assert.equal(new Set(names).size, names.length, where)
  }
  for (const [member, inner] of Object.entries(value))
    assertNamesUnique(inner, `${where}/${member}`)
}

test('every invalid case says why', () => {
  for (const file of files) {
    JSON.parse(read(file), (member, value) => {
      if (!/^(invalid|faulty)/.test(member)) return value
      for (const each of value)
        assert.ok(each.name && (each.why || each.reason), `${file}: ${each.name}`)
      return value
    })
  }
})
