import { randomFillSync } from 'node:crypto'

const BYTES = 12
/** Random bytes for many ids at once: a call for each id would cost more than the rest of a lookup. */
const pool = Buffer.allocUnsafe(BYTES * 1024)
let used = pool.length

/**
 * A unique request id (contract section 7): `req_` and 96 random bits in hexadecimal. A counter would tell callers how many
 * requests the service answers, and the ids of other callers.
 */
export function newRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += BYTES
  return `req_${pool.toString('hex', used - BYTES, used)}`
}
