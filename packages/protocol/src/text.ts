/** `agentId`: 1 to 128 code points, well-formed, without control characters. Compared byte for byte, never normalised. */
export const AGENT_ID_PATTERN = /^[^\p{Cc}\p{Cs}]{1,128}$/u
/** `challenge`: not empty, well-formed, without U+0000. Its length in bytes is checked separately. */
export const CHALLENGE_PATTERN = /^[^\0\p{Cs}]+$/u
export const CHALLENGE_MAX_BYTES = 8192
/** The username of an owner or an agent, as in URLs. */
export const USERNAME_PATTERN = /^[a-z0-9-]{3,32}$/
/** A display name: 1 to 64 code points, at least one of them visible, without control characters and direction overrides. */
export const DISPLAY_NAME_PATTERN =
  /^(?![\p{Z}\p{Default_Ignorable_Code_Point}]+$)[^\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]{1,64}$/u

/** A description: at most 160 code points (contract 2.3a), with line feeds but no other control characters and no direction overrides. */
export const DESCRIPTION_PATTERN = /^(?:[^\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]|\n){0,160}$/u

/** What a site writes in a report: 1 to 1,000 code points, otherwise as a description. */
export const REPORT_TEXT_PATTERN = /^(?:[^\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]|\n){1,1000}$/u

/** Check marks and ballot boxes, U+221A and letters of other scripts that look like one among them. */
const CHECK_MARK =
  /[\u221a\u237b\u2611\u2705\u2713\u2714\uaa9c\u{10102}\u{1f5f8}\u{1f5f9}\u{1fbb1}]/u
/** Seals, rosettes, medals, locks, shields and marks of approval, which other sites show next to verified names. */
const SEAL =
  /[\u2729\u272a\u2735-\u273a\u2742\u2743\u274a\u274b\u3299\u32a3\u{1f197}\u{1f234}\u{1f250}\u{1f251}\u{1f396}\u{1f3c5}\u{1f3f5}\u{1f4ae}\u{1f4db}\u{1f50f}\u{1f510}\u{1f512}\u{1f6e1}\u{1f947}-\u{1f949}]/u
/** Scripts whose letters join, so that writing them needs joiners (RFC 5892, appendices A.1 and A.2). */
const JOINING =
  '[\\p{sc=Arab}\\p{sc=Syrc}\\p{sc=Mong}\\p{sc=Deva}\\p{sc=Beng}\\p{sc=Guru}\\p{sc=Gujr}\\p{sc=Orya}\\p{sc=Taml}\\p{sc=Telu}\\p{sc=Knda}\\p{sc=Mlym}\\p{sc=Sinh}]'
/** The only places of default-ignorable code points: between letters that join, and within an emoji. */
const NEEDED = [
  `(?<=${JOINING})[\\u200c\\u200d](?=${JOINING})`,
  '(?<=\\p{Extended_Pictographic})\\ufe0f',
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})',
]
const INVISIBLE = new RegExp(`(?!${NEEDED.join('|')})\\p{Default_Ignorable_Code_Point}`, 'u')

/**
 * Whether a name or description imitates a verification: it contains check marks, seals or invisible characters.
 * @returns what is wrong, as a plural noun for a message; null if nothing is
 */
export function imitationIn(text: string): 'check marks' | 'seals' | 'invisible characters' | null {
  if (CHECK_MARK.test(text)) return 'check marks'
  if (SEAL.test(text)) return 'seals'
  return INVISIBLE.test(text) ? 'invisible characters' : null
}
