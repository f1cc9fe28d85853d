import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DESCRIPTION_PATTERN, DISPLAY_NAME_PATTERN } from '@countersign/protocol'
import { readCases, textOf } from '../../test/support/vector-files.ts'
import { portablePattern } from './portable-pattern.ts'

test('a published pattern accepts everything that the service accepts', () => {
  const names = readCases<{ text: string; times?: number }>('text.json', 'displayName', 'valid')
  assert.ok(names.length > 3)
  const pattern = (source: string) => new RegExp(portablePattern(source) ?? '', 'u')
  for (const each of names) {
    assert.match(textOf(each), pattern(DISPLAY_NAME_PATTERN.source))
    assert.match(`${textOf(each)}\n`, pattern(DESCRIPTION_PATTERN.source))
  }
  assert.doesNotMatch('a\tb', pattern(DISPLAY_NAME_PATTERN.source))
  assert.equal(portablePattern('^\\p{L}$'), null, 'what no other pattern can say is left out')
})
