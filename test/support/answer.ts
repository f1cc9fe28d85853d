import assert from 'node:assert/strict'
import { ERROR_STATUS, type ErrorCode } from '@countersign/protocol'

/** A complete response. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Parses the body as JSON and asserts that the Content-Type is JSON. */
export function jsonOf<T = Record<string, unknown>>({ headers, text }: Answer): T {
  assert.match(
    headers.get('content-type') ?? 'none',
    /^application\/(did\+)?json(; charset=utf-8)?$/,
  )
  return JSON.parse(text) as T
}

/**
 * Asserts that a response is an error in the format of contract section 7.
 * @param status the contract's status for the code, repeated here so that a changed table of codes fails the test
 * @param message matches the message, if several errors share the code
 */
export function assertRefused(
  answer: Answer,
  status: number,
  code: ErrorCode,
  message: RegExp = /\S/,
): void {
  const { headers, text } = answer
  assert.ok(
    answer.status < 500 || answer.status === 501,
    `${answer.status} is a failure of the service: ${text}`,
  )
  assert.equal(answer.status, status, text)
  assert.match(headers.get('content-type') ?? 'none', /^application\/json(; charset=utf-8)?$/)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(headers.get('etag'), null, 'a refusal is nothing to revalidate')
  const body = JSON.parse(text)
  assert.deepEqual(Object.keys(body), ['error'])
  assert.deepEqual(Object.keys(body.error).sort(), ['code', 'message', 'requestId'])
  assert.equal(body.error.code, code, text)
  assert.equal(ERROR_STATUS[code], status)
  assert.match(body.error.requestId, /^req_[0-9a-z]+$/)
  assert.match(body.error.message, message)
}
