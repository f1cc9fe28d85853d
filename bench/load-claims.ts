import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { HOST } from './exchange.ts'
import { type Pumped, pump } from './pump.ts'
import { CLAIM_PATH } from './questions.ts'

/** What the script is asked to do: post lines of a file, each once. */
export interface ClaimTask {
  readonly port: number
  /** Lines of one length. */
  readonly file: string
  readonly count: number
  /** The first line that has not been used yet. */
  readonly from: number
  readonly most: number
  readonly connections: number
  readonly seconds: number
}

// node load-claims.ts '<a ClaimTask as JSON>': wrk cannot stop where a list ends.
const task = JSON.parse(process.argv[2] as string) as ClaimTask
const { bodies, width } = read(task)
const head = Buffer.from(
  `POST ${CLAIM_PATH} HTTP/1.1\r\nHost: ${HOST}:${task.port}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${width - 1}\r\n\r\n`,
)
let at = 0
const pumped: Pumped = await pump({ ...task, next: nextClaim })
console.log(`RESULT ${JSON.stringify(pumped)}`)

function nextClaim(): Buffer | null {
  if (at >= bodies.length) return null
  const body = bodies.subarray(at, at + width - 1)
  at += width
  return Buffer.concat([head, body])
}

function read({ file, count, from, most }: ClaimTask): { bodies: Buffer; width: number } {
  const width = statSync(file).size / count
  const bytes = Buffer.alloc(Math.min(most, count - from) * width)
  const fd = openSync(file, 'r')
  readSync(fd, bytes, 0, bytes.length, from * width)
  closeSync(fd)
  return { bodies: bytes, width }
}
