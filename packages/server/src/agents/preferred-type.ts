import Negotiator from 'negotiator'

/**
 * The media type that an `Accept` header prefers (RFC 9110 section 12.5.1): by weight, then by the more specific range, then
 * by the order in the header, then by the order of `types`.
 * @param accept the header's value; undefined accepts every type
 * @returns null if the header accepts none of the types
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  types: readonly T[],
): T | null {
  // Negotiator matches parameters exactly, but clients add a charset to types that have none.
  const bare = accept?.replaceAll(/;\s*charset=[^;,]*/gi, '')
  const negotiator = new Negotiator({ headers: { accept: bare } })
  return (negotiator.mediaType([...types]) as T | undefined) ?? null
}
