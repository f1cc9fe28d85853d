import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { withRaw } from './raw-database.ts'
import type { TestService } from './service.ts'

/** Each node records its last commit there, even if nothing else has changed. */
const OF_NODES = 'commit_marks'

/** A digest of every row of every table except those of nodes, read over a separate connection. */
export function digestOf({ settings }: TestService): Promise<string> {
  return withRaw(settings, async (raw) => {
    const hash = createHash('sha256')
    for (const name of await raw.tables()) {
      if (name === OF_NODES) continue
      const rows = await raw.all(`SELECT * FROM "${name}"`)
      const lines = rows.map((row) => JSON.stringify(row, bytesAsHex)).sort()
      hash.update(`${name} ${lines.length}\n${lines.join('\n')}\n`)
    }
    return hash.digest('hex')
  })
}

function bytesAsHex(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

/** Asserts that the work does not change the database. @returns the result of the work */
export async function unchanged<T>(service: TestService, work: () => Promise<T>): Promise<T> {
  const before = await digestOf(service)
  const result = await work()
  assert.equal(await digestOf(service), before, 'the database has changed')
  return result
}
