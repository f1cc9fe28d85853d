import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { type HttpRequest, type HttpResponse, sendRequest } from './http-exchange.ts'

const SAMPLE_SIZE = 20

/**
 * Checks that two services answer alike, so that both do the same work under load.
 * @param wrong invalid requests, with the status that each must get
 * @returns the first service's answer to each valid request
 * @throws AssertionError if they differ or do not answer 200
 */
export async function checkSameAnswers(
  one: number,
  other: number,
  asks: readonly [HttpRequest, ...HttpRequest[]],
  wrong: readonly (readonly [HttpRequest, number])[],
): Promise<readonly [HttpResponse, HttpResponse]> {
  for (const each of asks.slice(0, SAMPLE_SIZE)) {
    const [a, b] = await Promise.all([sendRequest(one, each), sendRequest(other, each)])
    for (const { status, body } of [a, b]) strictEqual(status, 200, `${each.path}: ${body}`)
    deepStrictEqual(JSON.parse(`${a.body}`), JSON.parse(`${b.body}`), each.path)
  }
  for (const [each, refusal] of wrong) {
    const refused = await Promise.all([sendRequest(one, each), sendRequest(other, each)])
    for (const { status, body } of refused) strictEqual(status, refusal, `${each.path}: ${body}`)
  }
  return [await sendRequest(one, asks[0]), await sendRequest(other, asks[0])]
}

/** Checks that the bare server sends the same bytes, except for the date. */
export async function checkSameBytes(
  bare: number,
  scenario: HttpRequest,
  sample: HttpResponse,
): Promise<void> {
  const answer = await sendRequest(bare, scenario)
  strictEqual(answer.status, sample.status)
  deepStrictEqual(withoutDate(answer.rawHeaders), withoutDate(sample.rawHeaders))
  deepStrictEqual(answer.body, sample.body)
}

function withoutDate(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, i) => rawHeaders[i - (i % 2)]?.toLowerCase() !== 'date')
}
