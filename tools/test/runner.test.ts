import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT, tempDir } from '../../test/support/service.ts'
import { planJobs } from './plan.ts'
import type { Report } from './reporter.ts'
import { runJob } from './run-job.ts'

const PASSING = `import { test } from 'node:test'; test('passes', () => {})`

/** Runs test files of these contents in one process. */
async function runFiles(
  t: TestContext,
  env: Readonly<Record<string, string>>,
  ...contents: readonly string[]
) {
  const dir = tempDir(t)
  const paths = contents.map((content, i) => {
    const file = join(dir, `${i}.test.mjs`)
    writeFileSync(file, content)
    return relative(ROOT, file)
  })
  const { problem, reports } = await runJob({ database: 'sqlite', paths }, env)
  const of = <T extends Report['type']>(type: T) =>
    reports.filter((each): each is Extract<Report, { type: T }> => each.type === type)
  return { problem, of }
}

test('each tier has the files with its names, each once for a database', () => {
  const files = (['quick', 'all', 'nightly'] as const).map((tier) =>
    planJobs(tier).flatMap(({ database, paths }) => paths.map((path) => `${database} ${path}`)),
  )
  const [quick = [], all = [], nightly = []] = files
  for (const each of files) assert.equal(new Set(each).size, each.length)
  const isSlow = (path: string) => path.includes('.slow.')
  const sqlite = (path: string) => path.startsWith('sqlite')
  assert.deepEqual(
    new Set(all.filter((path) => sqlite(path) && !isSlow(path))),
    new Set(quick.filter(sqlite)),
  )
  assert.ok(quick.every((path) => all.includes(path)))
  assert.ok(nightly.length > 0 && nightly.every((path) => path.includes('.nightly.')))
})

test('what passes, fails and is skipped is reported, with the totals', async (t) => {
  const failing = `import { test } from 'node:test'\ntest('fails', () => { throw new Error('wrong') })`
  const skipped = `import { test } from 'node:test'; test('waits', { skip: 'why' }, () => {})`
  const { problem, of } = await runFiles(t, {}, PASSING, failing, skipped)
  assert.equal(problem, null)
  const [failed] = of('failed')
  assert.equal(failed?.name, 'fails')
  assert.match(failed?.at ?? '', /1\.test\.mjs:2$/)
  assert.match(failed?.error ?? '', /wrong/)
  assert.deepEqual(of('skipped'), [{ type: 'skipped', reason: 'why' }])
  assert.equal(of('took').length, 3)
  const { tests, passed, failed: failures } = of('totals')[0]?.counts ?? {}
  assert.deepEqual([tests, passed, failures], [3, 1, 1])
})

test('a file without a test, or one that cannot be loaded, is a failure', async (t) => {
  for (const content of ['export {}', `import './nowhere.mjs'`]) {
    const { of } = await runFiles(t, {}, PASSING, content)
    assert.match(of('failed')[0]?.at ?? '', /1\.test\.mjs/, content)
  }
})

test('a process that ends before its tests is a problem, even if it says that all is well', async (t) => {
  const ending = `import { test } from 'node:test'; test('ends', () => process.exit(0))`
  const { problem } = await runFiles(t, {}, ending, PASSING)
  assert.match(problem ?? '', /^the process ended before its tests did \(0\)$/)
})

test('what fails after the last test of a file is a failure, and what others have left open ends their process', async (t) => {
  const listening = `import { createServer } from 'node:http'; import { after, test } from 'node:test'
const server = createServer().listen(0)
after(() => { server.close(); throw new Error('not ended') })
test('passes', () => new Promise((resolve) => setTimeout(resolve, 1000)))`
  const { problem, of } = await runFiles(t, { TEST_IDLE_MS: '500' }, listening, listening)
  assert.match(problem ?? '', /^the process ended before its tests did \(1\)\n.*open: .*TCPServer/)
  assert.match(of('failed')[0]?.error ?? '', /not ended/)
  assert.equal(of('took').length, 3)
})

test('an error after the end of its test is a problem, and said', async (t) => {
  const late = `import { test } from 'node:test'
test('leaves something behind', () => { setTimeout(() => { throw new Error('too late') }, 50) })
test('goes on', () => new Promise((resolve) => setTimeout(resolve, 200)))`
  const { problem, of } = await runFiles(t, {}, late)
  assert.deepEqual(of('failed'), [])
  assert.match(problem ?? '', /^the process failed \(1\), and no test did\n.*too late/s)
})
