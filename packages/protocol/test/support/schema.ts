import assert from 'node:assert/strict'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

type Document = Readonly<Record<string, unknown>>

/** Asserts that the schema takes a document as it is, and nothing that lacks one of its members. */
export function assertRequires(schema: TSchema, document: Document, optional: string[] = []): void {
  const validator = Compile(schema)
  assert.deepEqual(validator.Errors(document), [])
  for (const member of Object.keys(document)) {
    const { [member]: _, ...rest } = document
    assert.equal(validator.Check(rest), optional.includes(member), `without ${member}`)
  }
}

/** Asserts that the schema takes the document with each of these changes. */
export function assertTakes(schema: TSchema, document: Document, changes: Document[]): void {
  const validator = Compile(schema)
  for (const change of changes) {
    assert.deepEqual(validator.Errors({ ...document, ...change }), [], JSON.stringify(change))
  }
}

/** Asserts that the schema takes the document, but with none of these changes. */
export function assertRefuses(schema: TSchema, document: Document, changes: Document[]): void {
  const validator = Compile(schema)
  assert.deepEqual(validator.Errors(document), [])
  for (const change of changes) {
    assert.equal(validator.Check({ ...document, ...change }), false, JSON.stringify(change))
  }
}
