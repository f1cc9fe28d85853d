import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { namingFor } from '../../src/index.ts'

/** Every case of `vectors/` has a name; an invalid one says why. */
export interface Case {
  readonly name: string
  readonly why?: string
}

/** A text, `times` times over where that is given. */
export interface TextCase extends Case {
  readonly text: string
  readonly times?: number
}

export const vectorsDirectory = new URL('../../../../vectors/', import.meta.url)

export function readVectors<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, vectorsDirectory), 'utf8')) as T
}

/** Runs a check on each case; a failure names its case, and a list that has become empty is one. */
export function forEachCase<T extends Case>(cases: readonly T[], check: (each: T) => void): void {
  assert.ok(cases.length > 0, 'there are cases')
  for (const each of cases) {
    try {
      check(each)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw new Error(`case "${each.name}": ${message}`, { cause: error })
    }
  }
}

export function textOf({ text, times }: { text: string; times?: number }): string {
  return text.repeat(times ?? 1)
}

/** The naming of a case: that of its short name, by default `svc`. */
export function namingOf({ shortName }: { shortName?: string }) {
  return namingFor(shortName)
}

export function bytesOf(hex: string): Buffer {
  const bytes = Buffer.from(hex, 'hex')
  assert.equal(bytes.toString('hex'), hex, 'lower-case hexadecimal')
  return bytes
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
