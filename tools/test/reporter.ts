import { appendFileSync } from 'node:fs'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/** What the runner reads of a process of tests, a line of JSON each. */
export type Report = FailedTest | SkippedTest | Totals

export interface FailedTest {
  readonly type: 'failed'
  /** Where it is written, with its line. */
  readonly at: string
  readonly name: string
  readonly error: string
}

export interface SkippedTest {
  readonly type: 'skipped'
  readonly path: string
  readonly reason: string
}

/** The numbers that `node --test` ends with. */
export interface Totals {
  readonly type: 'totals'
  readonly counts: Readonly<Record<Count, number>>
}

export const COUNTS = [
  'tests',
  'suites',
  'passed',
  'failed',
  'cancelled',
  'skipped',
  'todo',
] as const
type Count = (typeof COUNTS)[number]

/**
 * A reporter for `node --test`, which prints nothing. It appends to its file: whatever starts with the options of this
 * process, such as a worker thread, would empty a file named by `--test-reporter-destination`.
 */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const file = process.env.TEST_REPORT as string
  for await (const event of events) {
    const found = reportOf(event)
    if (found !== null) appendFileSync(file, `${JSON.stringify(found)}\n`)
  }
  yield ''
}

function reportOf({ type, data }: TestEvent): Report | null {
  // Summaries of single files come before the one of the process.
  if (type === 'test:summary' && data.file === undefined)
    // The types of Node 24 lack `failed`.
    return { type: 'totals', counts: data.counts as unknown as Totals['counts'] }
  if (type === 'test:pass' && data.skip !== undefined)
    return { type: 'skipped', path: data.file ?? '', reason: String(data.skip) }
  if (type !== 'test:fail') return null
  const { file, line, name, details } = data
  const { error } = details
  // That a test failed because one inside it failed says nothing new.
  if ((error as { failureType?: string }).failureType === 'subtestsFailed') return null
  return { type: 'failed', at: `${file}:${line}`, name, error: inspect(error.cause ?? error) }
}
