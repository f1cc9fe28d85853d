/** Whether a request has a signature (RFC 9421), readable or not. @param field a header by its name in lower case */
export function isSigned(field: (lower: string) => string | null): boolean {
  return field('signature-input') !== null || field('signature') !== null
}
