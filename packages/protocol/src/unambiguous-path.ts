/**
 * Whatever servers read differently: parts of paths that they resolve, merge or cut off, characters that no URL may
 * contain, and encoded characters that need no encoding or separate parts of a URL. One server decodes `%27` before it
 * looks for a handler, another one does not. Only the encoded form of characters that a URL cannot contain otherwise, or
 * that clients send in both forms, is unambiguous: a space, ``"<>[]^`{|}`` and everything beyond ASCII.
 */
const AMBIGUOUS =
  /^(?!\/)|\/\/|\/\.{1,2}(?:\/|$)|[^\x21-\x7e]|[\\;#?]|%(?!2[02]|3[ce]|5[bde]|60|7[bcd]|[89a-f][\da-f])/i

/** Whether all servers interpret a path in the same way. */
export function isUnambiguousPath(path: string): boolean {
  return comparablePath(path) !== null
}

/**
 * The form in which paths are compared: without encodings, in lower case, because many routers ignore letter case.
 * @returns null if servers may interpret the path differently
 */
export function comparablePath(path: string): string | null {
  if (AMBIGUOUS.test(path)) return null
  if (!path.includes('%')) return path.toLowerCase()
  try {
    return decodeURIComponent(path).normalize('NFC').toLowerCase()
  } catch {
    // Invalid UTF-8, such as `%C0%AF`, which careless decoders turn into a slash.
    return null
  }
}
