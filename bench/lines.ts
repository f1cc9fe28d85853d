import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { TAIL_LINE } from './seed-rows.ts'

const SAMPLES = 1000
const MAX_LINE_LENGTH = 1024

/** The non-empty lines of a small file. */
export function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** The first lines of a file that may be too large to read completely. */
export function firstLines(file: string, count: number): string[] {
  const fd = openSync(file, 'r')
  const start = Buffer.alloc(count * MAX_LINE_LENGTH)
  const read = readSync(fd, start)
  closeSync(fd)
  return start.toString('utf8', 0, read).split('\n').slice(0, count)
}

/** At most a thousand tails, evenly spread over a file of up to ten million, beginning with the first. */
export function sampleTails(file: string): [string, ...string[]] {
  const lines = Math.floor(statSync(file).size / TAIL_LINE)
  const count = Math.min(SAMPLES, lines)
  const step = Math.floor(lines / count)
  const fd = openSync(file, 'r')
  const line = Buffer.alloc(TAIL_LINE)
  const tails = Array.from({ length: count }, (_, i) => {
    readSync(fd, line, 0, TAIL_LINE, i * step * TAIL_LINE)
    return line.toString('latin1', 0, TAIL_LINE - 1)
  })
  closeSync(fd)
  return tails as [string, ...string[]]
}
