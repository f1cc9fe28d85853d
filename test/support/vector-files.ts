import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './service.ts'

/** A case of `vectors/`: it has a name, and an invalid one gives the reason. */
export interface VectorCase {
  readonly name: string
  readonly why?: string
}

/** Reads a file in `vectors/`. */
export function readVectorFile<T extends object>(file: string): T {
  return JSON.parse(readFileSync(join(ROOT, 'vectors', file), 'utf8'))
}

/** Reads the cases of a file in `vectors/` at a path of members. Asserts that there are any. */
export function readCases<T extends object>(
  file: string,
  ...members: string[]
): (T & VectorCase)[] {
  let value = JSON.parse(readFileSync(join(ROOT, 'vectors', file), 'utf8'))
  for (const member of members) value = value[member]
  assert.ok(Array.isArray(value) && value.length > 0, `${file} has cases at ${members}`)
  return value
}

/** The text of a vector, repeated `times` times. */
export function textOf({ text, times = 1 }: { text: string; times?: number }): string {
  return text.repeat(times)
}
