import { appendFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/** What the runner reads of a process of tests, a line of JSON each. `at` is where the test is written, with its line. */
export type Report =
  | { readonly type: 'failed'; readonly at: string; readonly name: string; readonly error: string }
  | { readonly type: 'skipped'; readonly reason: string }
  | { readonly type: 'took'; readonly file: string; readonly ms: number }
  /** A warning, such as of an error after the test that caused it: the process then fails, and no test does. */
  | { readonly type: 'warned'; readonly message: string }
  | { readonly type: 'totals'; readonly counts: Readonly<Record<string, number>> }

/**
 * How long the process may go on while no test runs, in milliseconds, unless TEST_IDLE_MS says otherwise. After that,
 * something that a test has left open keeps it, such as a server.
 */
const IDLE = 240_000
/** A line of the totals, which come as diagnostics as well. */
const IS_COUNT = /^[a-z_]+ [0-9.]+$/

/**
 * A reporter for `node --test`, which prints nothing. It appends to its file: whatever starts with the options of this
 * process, such as a worker thread, would empty a file named by `--test-reporter-destination`. It ends a process in
 * which no test runs any more, if something keeps it from ending by itself: no totals are reported then.
 */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let running = 0
  let idle: NodeJS.Timeout | undefined
  for await (const event of events) {
    idle ??= setTimeout(() => (running > 0 ? idle?.refresh() : endIdle()), idleMs()).unref()
    idle.refresh()
    // These two come when a test begins and ends; the others wait for the tests before it.
    if (event.type === 'test:dequeue') running++
    if (event.type === 'test:complete') running--
    for (const each of reportsOf(event)) append(each)
  }
  yield ''
}

function idleMs(): number {
  return Number(process.env.TEST_IDLE_MS ?? IDLE)
}

function endIdle(): never {
  const open = [...new Set(process.getActiveResourcesInfo())].join(', ')
  append({ type: 'warned', message: `no test ran any more, and this was left open: ${open}` })
  process.exit(1)
}

function append(each: Report): void {
  appendFileSync(process.env.TEST_REPORT as string, `${JSON.stringify(each)}\n`)
}

function* reportsOf({ type, data }: TestEvent): Generator<Report> {
  // The types of Node 24 lack `failed`.
  if (type === 'test:summary')
    yield { type: 'totals', counts: data.counts as unknown as Record<string, number> }
  if (type === 'test:diagnostic' && !IS_COUNT.test(data.message))
    yield { type: 'warned', message: data.message }
  if (type !== 'test:pass' && type !== 'test:fail') return
  const { name, file = '', line, nesting, skip, details } = data
  const at = `${file}:${line}`
  if (nesting === 0) yield { type: 'took', file, ms: details.duration_ms }
  if (skip !== undefined) yield { type: 'skipped', reason: String(skip) }
  if (type === 'test:pass') {
    // For a file without tests, Node reports one with the name of the file.
    if (resolve(name) === file)
      yield { type: 'failed', at, name, error: 'no test ran in this file' }
    return
  }
  const { error } = data.details
  // That a test failed because one inside it failed says nothing new.
  if ((error as { failureType?: string }).failureType === 'subtestsFailed') return
  yield { type: 'failed', at, name, error: inspect(error.cause ?? error) }
}
