import assert from 'node:assert/strict'
import { matchesGlob } from 'node:path'
import { test } from 'node:test'
import { planJobs } from './plan-jobs.ts'
import { filesOf, ON_POSTGRES } from './tiers.ts'

const key = ({ path, database }: { path: string; database: string }) => `${database} ${path}`

test('everything that npm test runs is part of npm run test:all', () => {
  const all = new Set(filesOf('all').map(key))
  assert.deepEqual(
    filesOf('quick')
      .map(key)
      .filter((each) => !all.has(each)),
    [],
  )
})

test('every pattern matches a file, so that none is left behind when files move', () => {
  const paths = filesOf('all').map(({ path }) => path)
  for (const pattern of ON_POSTGRES.flatMap(expandBraces)) {
    assert.ok(
      paths.some((path) => matchesGlob(path, pattern)),
      pattern,
    )
  }
})

test('each file is in exactly one job', () => {
  for (const tier of ['quick', 'all'] as const) {
    const planned = planJobs(filesOf(tier), tier).flatMap(({ database, paths }) =>
      paths.map((path) => key({ path, database })),
    )
    assert.deepEqual(planned.toSorted(), filesOf(tier).map(key).toSorted())
  }
})

/** `a/{b,c}.ts` as `a/b.ts` and `a/c.ts`: a pattern can match although one of its names no longer exists. */
function expandBraces(pattern: string): string[] {
  const [, before = '', names, after = ''] = /^(.*)\{([^}]*)\}(.*)$/.exec(pattern) ?? []
  return names === undefined ? [pattern] : names.split(',').map((name) => before + name + after)
}
