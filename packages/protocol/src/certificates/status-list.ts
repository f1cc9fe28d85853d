/** Entries of a status list. */
export const STATUS_LIST_LENGTH = 131_072
/** Bits of an entry. */
export const STATUS_BITS = 2
/** Bytes of a status list that is not compressed. */
export const STATUS_LIST_BYTES = (STATUS_LIST_LENGTH * STATUS_BITS) / 8

/** The values of an entry (draft-ietf-oauth-status-list section 7.1). */
export const STATUS_VALUES = { valid: 0, invalid: 1, suspended: 2 } as const
export type StatusValue = (typeof STATUS_VALUES)[keyof typeof STATUS_VALUES]

/**
 * Reads an entry: 2 bits, the least significant bits of a byte first.
 * @param list not compressed
 * @returns 0 to 3; 3 is not assigned and is to be read as invalid. Null if the list has no such entry
 */
export function statusAt(list: Uint8Array, index: number): number | null {
  const byte = list[Math.floor(index / 4)]
  if (!Number.isInteger(index) || index < 0 || byte === undefined) return null
  return (byte >> ((index & 3) * STATUS_BITS)) & 3
}

/** Writes an entry in place. @param list not compressed @throws RangeError if it has no such entry */
export function setStatusAt(list: Uint8Array, index: number, status: StatusValue): void {
  const shift = (index & 3) * STATUS_BITS
  const byte = list[Math.floor(index / 4)]
  if (!Number.isInteger(index) || index < 0 || byte === undefined) {
    throw new RangeError(`the list has no entry ${index}`)
  }
  list[Math.floor(index / 4)] = (byte & ~(3 << shift)) | (status << shift)
}
