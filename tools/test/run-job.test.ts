import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT, tempDir } from '../../test/support/service.ts'
import { type JobResult, runJob } from './run-job.ts'

const PASSING = `import { test } from 'node:test'; test('passes', () => {})`

/** Runs test files of these contents in one process. */
function runFiles(t: TestContext, ...contents: readonly string[]): Promise<JobResult> {
  const dir = tempDir(t)
  const paths = contents.map((content, i) => {
    const file = join(dir, `${i}.test.mjs`)
    writeFileSync(file, content)
    return relative(ROOT, file)
  })
  return runJob({ database: 'sqlite', paths }, {})
}

test('tests that pass leave nothing to report but totals and costs', async (t) => {
  const { problem, reports, costs } = await runFiles(t, PASSING, PASSING)
  assert.equal(problem, null)
  assert.equal(costs.length, 2)
  const [totals] = reports
  assert.ok(totals?.type === 'totals')
  assert.deepEqual([totals.counts.tests, totals.counts.passed, totals.counts.failed], [2, 2, 0])
})

test('a test that fails is reported with its place and its error', async (t) => {
  const failing = `import { test } from 'node:test'\ntest('fails', () => { throw new Error('wrong') })`
  const { problem, reports } = await runFiles(t, PASSING, failing)
  assert.equal(problem, null)
  const [failed] = reports.filter((each) => each.type === 'failed')
  assert.equal(failed?.name, 'fails')
  assert.match(failed?.at ?? '', /1\.test\.mjs:2$/)
  assert.match(failed?.error ?? '', /wrong/)
})

test('a file without a test is a problem', async (t) => {
  const { problem } = await runFiles(t, PASSING, 'export {}')
  assert.match(problem ?? '', /^no test ran in \S+1\.test\.mjs$/)
})

test('a file whose only test is skipped has been run', async (t) => {
  const skipped = `import { test } from 'node:test'; test('waits', { skip: 'why' }, () => {})`
  const { problem, reports } = await runFiles(t, skipped)
  assert.equal(problem, null)
  assert.ok(reports.some((each) => each.type === 'skipped' && each.reason === 'why'))
})

test('a process that ends before its tests is a problem, even if it says that all is well', async (t) => {
  const ending = `import { test } from 'node:test'; test('ends', () => process.exit(0))`
  const { problem } = await runFiles(t, ending, PASSING)
  assert.match(problem ?? '', /^the process ended before its tests did \(0\)$/)
})

test('a file that cannot be loaded is a failure', async (t) => {
  const { problem, reports } = await runFiles(t, PASSING, `import './nowhere.mjs'`)
  assert.ok(problem !== null || reports.some(({ type }) => type === 'failed'))
})
