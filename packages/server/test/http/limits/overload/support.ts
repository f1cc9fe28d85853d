import assert from 'node:assert/strict'
import type { Answer } from '../../../../../../test/support/answer.ts'
import { sendRaw } from '../../../../../../test/support/raw-http.ts'
import type { ServiceProcess } from '../../../../../../test/support/service.ts'

/** A test that blocks the process or the database must not make the read model stale, which is another kind of 503. */
export const PATIENT = { MAX_STALENESS: '60' } as const

/**
 * Pipelines requests on one connection, at most 16 of them, so that all arrive at once.
 * @returns the answers, in the order of the requests
 */
export async function pipeline(
  url: string,
  path: string,
  bodies: readonly unknown[],
): Promise<readonly Answer[]> {
  const requests = bodies.map((body, i) => {
    const text = JSON.stringify(body)
    const end = i === bodies.length - 1 ? 'Connection: close\r\n' : ''
    return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${end}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  })
  const { answers, rest } = await sendRaw(url, requests.join(''), { patienceMs: 60_000 })
  assert.equal(rest, '')
  assert.equal(answers.length, bodies.length)
  return answers
}

/** Asserts that a response is a 503 of load shedding, in the error envelope. */
export function assertShed({ status, headers, text }: Answer): void {
  assert.equal(status, 503, text)
  assert.match(headers.get('content-type') ?? '', /^application\/json/)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.match(headers.get('retry-after') ?? 'none', /^[1-9]\d*$/)
  const { error, ...more } = JSON.parse(text)
  assert.deepEqual(more, {})
  assert.equal(error.code, 'UNAVAILABLE')
  assert.match(error.message, /try again/)
  assert.match(error.requestId, /^req_/)
}

export async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response
  return { status, headers, text: await response.text() }
}

/** The value of one series in `/metrics`; NaN if it is missing. */
export async function figure({ env }: ServiceProcess, series: string): Promise<number> {
  const text = await (await fetch(`http://localhost:${env.METRICS_PORT}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1) ?? Number.NaN)
}
