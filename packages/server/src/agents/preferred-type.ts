import Negotiator from 'negotiator'

/**
 * The media type that an `Accept` header prefers (RFC 9110 section 12.5.1): by weight, then the range that is more
 * specific, then the order in the header, then the order here.
 * @param accept the header; without one, every type is accepted
 * @returns null if it accepts none of them
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  types: readonly T[],
): T | null {
  // A parameter would have to match exactly, and clients add a charset to types that have none.
  const bare = accept?.replaceAll(/;\s*charset=[^;,]*/gi, '')
  const negotiator = new Negotiator({ headers: { accept: bare } })
  return (negotiator.mediaType([...types]) as T | undefined) ?? null
}
