/** Control characters, as a range that every dialect reads. */
const CONTROLS = String.raw`\x00-\x1f\x7f-\x9f`

/**
 * A pattern for regular expressions of other languages: Python's `re` knows no Unicode properties, and Rust's `regex` neither
 * lookarounds nor surrogates. It accepts everything that the service accepts. What it cannot say, the description says.
 * @returns null if the pattern cannot be written in all of them
 */
export function portablePattern(pattern: string): string | null {
  const portable = pattern
    .replaceAll('\\0', '\\x00')
    .replaceAll(/\(\?[!=](?:[^()[\]\\]|\\.|\[(?:[^\]\\]|\\.)*\])*\)/g, '')
    .replaceAll(/\[\^((?:[^\]\\]|\\.)*)\]/g, (_, members: string) => excluding(members))
  return /\\[pP]|\\u\{|\(\?[!=<]|\\u[dD][89a-fA-F]/.test(portable) ? null : portable
}

/** Excluding less accepts more, so that properties without a range of their own are left out. */
function excluding(members: string): string {
  const ranges = members.replaceAll('\\p{Cc}', CONTROLS).replaceAll(/\\[pP]\{\w+\}/g, '')
  // Not `.`, which excludes line breaks.
  return ranges === '' ? String.raw`[\s\S]` : `[^${ranges}]`
}
