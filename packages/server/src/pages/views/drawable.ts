/** Characters that the fonts have: Latin, Greek and Cyrillic letters with their punctuation. */
const DRAWN =
  /[ -~\u00a0-\u00ac\u00ae-\u0148\u014a-\u01c3\u01c5-\u024f\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u03ce\u0400-\u0479\u0480-\u049d\u04a0-\u04ff\u1e00-\u1e9b\u1e9e-\u1eff\u2013\u2014\u2018-\u201a\u201c-\u201e\u2020\u2022\u2026\u2039\u203a\u20ac\u2116\u2122]/u

/**
 * Removes characters that the fonts lack and that are no letters, such as emoji.
 * @returns null if letters are missing from the fonts or nothing is left: half a name would be another name
 */
export function drawable(text: string): string | null {
  const characters = [...text.normalize('NFC')]
  const lacking = characters.filter((each) => !DRAWN.test(each))
  if (lacking.some((each) => /[\p{L}\p{M}\p{N}]/u.test(each))) return null
  const drawn = characters.filter((each) => DRAWN.test(each)).join('')
  const left = drawn.replaceAll(/\s+/gu, ' ').trim()
  return /[\p{L}\p{N}]/u.test(left) ? left : null
}
