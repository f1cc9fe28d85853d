import assert from 'node:assert/strict'
import { withRaw } from '../../../../../test/support/raw-database.ts'
import type { TestService } from '../../../../../test/support/service.ts'
import { MARK } from './marked-columns.ts'

/** Everything that a mark or a number could be found in, for each row. */
export function rowsOf(
  service: TestService,
): Promise<{ table: string; text: string; row: object }[]> {
  return withRaw(service.settings, async (raw) => {
    const all = []
    for (const table of await raw.tables()) {
      for (const row of await raw.all(`select * from "${table}"`)) {
        const values = Object.values(row).map((value) =>
          value instanceof Uint8Array
            ? `${Buffer.from(value).toString('hex')} ${Buffer.from(value).toString('latin1')}`
            : String(value),
        )
        all.push({ table, text: values.join('\n'), row })
      }
    }
    return all
  })
}

/** The mark as text, and its hexadecimal and base64 forms wherever it begins. */
const TRACES = [
  MARK,
  Buffer.from(MARK).toString('hex'),
  ...[0, 1, 2].map((before) =>
    Buffer.from('x'.repeat(before) + MARK)
      .toString('base64')
      .slice(before === 0 ? 0 : before + 1, -4),
  ),
]

export function assertWithoutMark(bytes: Buffer, where: string): void {
  for (const trace of TRACES) {
    assert.equal(bytes.includes(trace), false, `${trace} is in ${where}`)
    assert.equal(bytes.includes(trace.toUpperCase()), false, `${trace} is in ${where}`)
  }
}
