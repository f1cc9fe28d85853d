import assert from 'node:assert/strict'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { type Case, forEachCase, readVectors } from './vectors.ts'

type Body = Record<string, unknown>
interface Change extends Case {
  readonly set?: Body
  readonly remove?: string[]
}
interface RequestCases {
  readonly body: Body
  readonly valid: Change[]
  readonly invalid: Change[]
}

export function readRequests(operation: 'claim' | 'verify'): RequestCases {
  return readVectors<Record<'claim' | 'verify', RequestCases>>('requests.json')[operation]
}

function changed(body: Body, { set, remove }: Change): Body {
  const copy = { ...body, ...set }
  for (const member of remove ?? []) delete copy[member]
  return copy
}

export function assertTakesBodies(schema: TSchema, { body, valid }: RequestCases): void {
  const validator = Compile(schema)
  forEachCase(valid, (each) => assert.deepEqual(validator.Errors(changed(body, each)), []))
}

export function assertRefusesBodies(schema: TSchema, { body, invalid }: RequestCases): void {
  const validator = Compile(schema)
  assert.ok(validator.Check(body))
  forEachCase(invalid, (each) => assert.equal(validator.Check(changed(body, each)), false))
}
