import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'

/** Flips one bit of the tail in the index of the table: the table's own row comes with more columns. */
export function flipBitInIndex(file: string, tail: string): void {
  const bytes = readFileSync(file)
  const offsets: number[] = []
  for (let at = bytes.indexOf(tail); at >= 0; at = bytes.indexOf(tail, at + 1)) offsets.push(at)
  const inIndex = offsets.filter((at) => !isRow(bytes, at, tail))
  assert.ok(inIndex.length > 0)
  const at = inIndex[0] as number
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(file, bytes)
}

/** An index on the tail holds the tail and a number, a few bytes; whatever else names it is longer. */
function isRow(bytes: Buffer, at: number, tail: string): boolean {
  // The header of an index entry: its size, its own length (3), the type of a text of 24 bytes (61), the type of a number.
  return bytes.readUInt8(at - 3) !== 3 || bytes.readUInt8(at - 2) !== 13 + 2 * tail.length
}
