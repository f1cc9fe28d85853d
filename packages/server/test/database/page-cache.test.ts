import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { SQLITE_ONLY } from '../../../../test/support/postgres.ts'
import { startTestService } from '../../../../test/support/service.ts'

const MAX_KIB = 16 * 1024

test('the page caches of a SQLite file take at most 16 MiB together', SQLITE_ONLY, async (t) => {
  const { db } = (await startTestService(t)).operator
  const size = sql<{ cache_size: number }>`pragma cache_size`
  const reader = await size.execute(db.read)
  const writer = await db.write((tx) => size.execute(tx.db))
  // Negative: in KiB, not in pages (sqlite.org/pragma.html#pragma_cache_size).
  const sizes = [reader, writer].map(({ rows }) => rows[0]?.cache_size ?? 0)
  assert.ok(
    sizes.every((each) => each < 0),
    String(sizes),
  )
  assert.ok(-sizes.reduce((sum, each) => sum + each) <= MAX_KIB, String(sizes))
})
