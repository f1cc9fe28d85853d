import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { HOST } from './http-exchange.ts'
import { CLAIM_PATH } from './scenarios.ts'
import { type SendResult, sendRequests } from './send-requests.ts'

/** The task of the load script: post each line of a file once. */
export interface ClaimTask {
  readonly port: number
  /** All lines have the same length. */
  readonly file: string
  readonly count: number
  /** The first unused line. */
  readonly from: number
  readonly max: number
  readonly connections: number
  readonly seconds: number
}

// node load-claims.ts '<a ClaimTask as JSON>': posts each claim once. wrk would start again at the end of the list.
const task = JSON.parse(process.argv[2] as string) as ClaimTask
const { bodies, width } = read(task)
const head = Buffer.from(
  `POST ${CLAIM_PATH} HTTP/1.1\r\nHost: ${HOST}:${task.port}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${width - 1}\r\n\r\n`,
)
let at = 0
const pumped: SendResult = await sendRequests({ ...task, next: nextClaim })
console.log(`RESULT ${JSON.stringify(pumped)}`)

function nextClaim(): Buffer | null {
  if (at >= bodies.length) return null
  const body = bodies.subarray(at, at + width - 1)
  at += width
  return Buffer.concat([head, body])
}

function read({ file, count, from, max }: ClaimTask): { bodies: Buffer; width: number } {
  const width = statSync(file).size / count
  const bytes = Buffer.alloc(Math.min(max, count - from) * width)
  const fd = openSync(file, 'r')
  readSync(fd, bytes, 0, bytes.length, from * width)
  closeSync(fd)
  return { bodies: bytes, width }
}
