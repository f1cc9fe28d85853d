/**
 * Whether a request is a CORS preflight (Fetch standard, section 4.9).
 * @param field a header by its name in lower case
 */
export function isPreflight(
  method: string | undefined,
  field: (lower: string) => string | null | undefined,
): boolean {
  return method === 'OPTIONS' && !!field('origin') && !!field('access-control-request-method')
}
