import { randomBytes } from 'node:crypto'

/** Tells this process's ids from those of others; the counter does the rest, cheaper than randomness each time. */
const PROCESS = randomBytes(6).toString('hex')
let count = 0

/** `req_` and an identifier that no other request has (contract section 7). */
export function newRequestId(): string {
  count += 1
  return `req_${PROCESS}${count.toString(36).padStart(6, '0')}`
}
