import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { type Answer, type Ask, ask } from './exchange.ts'

const CHECKED = 20

/**
 * Checks that two services give the same answers, so that the same work is measured.
 * @param wrong requests, and the status that refuses each
 * @returns the first answer of each
 * @throws AssertionError where they differ, or do not answer 200
 */
export async function checkSameAnswers(
  one: number,
  other: number,
  asks: readonly [Ask, ...Ask[]],
  wrong: readonly (readonly [Ask, number])[],
): Promise<readonly [Answer, Answer]> {
  for (const each of asks.slice(0, CHECKED)) {
    const [a, b] = await Promise.all([ask(one, each), ask(other, each)])
    for (const { status, body } of [a, b]) strictEqual(status, 200, `${each.path}: ${body}`)
    deepStrictEqual(JSON.parse(`${a.body}`), JSON.parse(`${b.body}`), each.path)
  }
  for (const [each, refusal] of wrong) {
    const refused = await Promise.all([ask(one, each), ask(other, each)])
    for (const { status, body } of refused) strictEqual(status, refusal, `${each.path}: ${body}`)
  }
  return [await ask(one, asks[0]), await ask(other, asks[0])]
}

/** Checks that the bare server answers in the same bytes, but for the date. */
export async function checkSameBytes(bare: number, question: Ask, sample: Answer): Promise<void> {
  const answer = await ask(bare, question)
  strictEqual(answer.status, sample.status)
  deepStrictEqual(withoutDate(answer.rawHeaders), withoutDate(sample.rawHeaders))
  deepStrictEqual(answer.body, sample.body)
}

function withoutDate(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, i) => rawHeaders[i - (i % 2)]?.toLowerCase() !== 'date')
}
