import assert from 'node:assert/strict'
import { test } from 'node:test'
import { directoryUrl } from '../../src/http-signatures/trusted-directories.ts'
import { forEachCase, readVectors, type TextCase } from '../support/vectors.ts'

const { valid, invalid } = readVectors<{
  readonly valid: readonly (TextCase & { readonly url: string })[]
  readonly invalid: readonly TextCase[]
}>('key-directories.json')

test('the address of a key directory has one spelling', () => {
  forEachCase(valid, ({ text, url }) => assert.equal(directoryUrl(text), url))
  forEachCase(invalid, ({ text }) => assert.equal(directoryUrl(text), null))
})
