import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { TestService } from './service.ts'

/** A digest of every row of every table, read through a connection of its own. */
export function digestOf({ settings }: TestService): string {
  const db = new DatabaseSync(settings.databaseFile, { readOnly: true })
  try {
    const hash = createHash('sha256')
    for (const { name } of db.prepare(TABLES).all()) {
      const rows = db.prepare(`SELECT * FROM "${name}"`).all()
      const lines = rows.map((row) => JSON.stringify(row, bytesAsHex)).sort()
      hash.update(`${name} ${lines.length}\n${lines.join('\n')}\n`)
    }
    return hash.digest('hex')
  } finally {
    db.close()
  }
}

const TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"

function bytesAsHex(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

/** Asserts that the database holds afterwards what it held before. @returns what the work resolves to */
export async function unchanged<T>(service: TestService, work: () => Promise<T>): Promise<T> {
  const before = digestOf(service)
  const result = await work()
  assert.equal(digestOf(service), before, 'the database has changed')
  return result
}
