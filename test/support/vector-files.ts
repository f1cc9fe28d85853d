import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './service.ts'

/** Every case of `vectors/` has a name; an invalid one says why. */
export interface VectorCase {
  readonly name: string
  readonly why?: string
}

/** A list of cases out of a file of `vectors/`, named by the members that lead to it; never an empty one. */
export function readCases<T extends object>(
  file: string,
  ...members: string[]
): (T & VectorCase)[] {
  let value = JSON.parse(readFileSync(join(ROOT, 'vectors', file), 'utf8'))
  for (const member of members) value = value[member]
  assert.ok(Array.isArray(value) && value.length > 0, `${file} has cases at ${members}`)
  return value
}

/** A text as vectors write it, `times` times over where that is given. */
export function textOf({ text, times = 1 }: { text: string; times?: number }): string {
  return text.repeat(times)
}
