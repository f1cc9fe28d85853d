import { randomBytes } from 'node:crypto'

/** Makes ids of different processes distinct. Within a process a counter is enough, and cheaper than randomness. */
const PROCESS = randomBytes(6).toString('hex')
let count = 0

/** A unique request id: `req_` and 12 hexadecimal digits, then a counter in base 36 (contract section 7). */
export function newRequestId(): string {
  count += 1
  return `req_${PROCESS}${count.toString(36).padStart(6, '0')}`
}
