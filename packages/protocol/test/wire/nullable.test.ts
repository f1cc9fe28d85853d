import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { nullable } from '../../src/wire/nullable.ts'

test('a nullable schema is written as one type or null, without a union', () => {
  assert.deepEqual(JSON.parse(JSON.stringify(nullable(Type.String({ maxLength: 3 })))), {
    type: ['string', 'null'],
    maxLength: 3,
  })
})

test('null is taken, and everything else by the schema’s own rules', () => {
  const text = Compile(nullable(Type.String({ maxLength: 3 })))
  for (const value of [null, '', 'abc']) assert.ok(text.Check(value))
  for (const value of ['abcd', 1, undefined, {}, false]) assert.equal(text.Check(value), false)
})

test('a nullable object still requires its members', () => {
  const object = Compile(nullable(Type.Object({ name: Type.String() })))
  for (const value of [null, { name: 'a' }]) assert.ok(object.Check(value))
  for (const value of [{}, { name: null }, [], 'null']) assert.equal(object.Check(value), false)
})
