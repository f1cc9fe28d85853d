import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCases } from '../../../test/support/vector-files.ts'
import { identifiedDid } from '../src/identification.ts'

test('the identification header is read as the service reads it', () => {
  const headers = (value: string) => new Headers({ ServiceID: value })
  for (const each of readCases<{ value: string; tail: string; shortName?: string }>(
    'identification-header.json',
    'valid',
  )) {
    const { value, tail, shortName = 'svc' } = each
    assert.equal(
      identifiedDid(headers(value), { shortName }),
      `${shortName}:agent:${tail}`,
      each.name,
    )
  }
  for (const each of readCases<{ value: string }>('identification-header.json', 'invalid')) {
    // A Headers object trims, and takes no text that no header could have.
    if (each.value !== each.value.trim() || /[^\x20-\x7e]/.test(each.value)) continue
    assert.equal(identifiedDid(headers(each.value)), null, each.name)
  }
  assert.equal(identifiedDid(new Headers()), null)
})
