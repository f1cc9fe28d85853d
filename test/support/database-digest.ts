import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { withRaw } from './raw-database.ts'
import type { TestService } from './service.ts'

/** Each node records its last commit there, even if nothing else has changed. */
const OF_NODES = 'commit_marks'

/** Changes get their places in the transparency log after they were made. */
const OF_LOG = /^log_/

/** How far background work has come in the events. */
const POSITION = 'webhook_position'

/** A digest of every row, by the name of the table, except those of nodes, of the log and of background work. Read over a separate connection. */
export function digestOf({ settings }: TestService): Promise<Readonly<Record<string, string>>> {
  return withRaw(settings, async (raw) => {
    const digests: Record<string, string> = {}
    for (const name of await raw.tables()) {
      if (name === OF_NODES || OF_LOG.test(name)) continue
      const where = name === 'settings' ? ` WHERE name <> '${POSITION}'` : ''
      const rows = await raw.all(`SELECT * FROM "${name}"${where}`)
      const lines = rows.map((row) => JSON.stringify(row, bytesAsHex)).sort()
      digests[name] = createHash('sha256').update(lines.join('\n')).digest('hex')
    }
    return digests
  })
}

function bytesAsHex(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

/** Asserts that the work does not change the database. @returns the result of the work */
export async function unchanged<T>(service: TestService, work: () => Promise<T>): Promise<T> {
  const before = await digestOf(service)
  const result = await work()
  assert.deepEqual(await digestOf(service), before)
  return result
}
