import { CodedError } from './errors.ts'
import { imitationIn } from './text.ts'

/**
 * Symbols and emoji, by their Unicode classes: next to a name, any of them could be a seal. The classes take `©`, `®` and `™` too,
 * which claim a mark.
 */
const SYMBOL = /[\p{So}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}]|\u20e3/u

/** The scripts in which languages are commonly written (UAX 31, table 5), and three more that join letters. */
const SCRIPTS =
  'Latin Cyrillic Greek Arabic Armenian Bengali Bopomofo Devanagari Ethiopic Georgian Gujarati Gurmukhi Han Hangul Hebrew Hiragana Kannada Katakana Khmer Lao Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan Mongolian Syriac Cherokee'.split(
    ' ',
  )
/** Scripts that are written together (UTS 39, section 5.2, "highly restrictive"). */
const TOGETHER = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
]
const classOf = (scripts: readonly string[]) => scripts.map((each) => `\\p{scx=${each}}`).join('')

let mixed: ((name: string) => boolean) | undefined

/** Whether a text has letters of scripts that are not written together. Its expressions are made on demand: that takes 50 ms. */
function mixesScripts(name: string): boolean {
  mixed ??= mixedScripts()
  return mixed(name)
}

function mixedScripts(): (name: string) => boolean {
  const allowed = [...SCRIPTS.map((each) => [each]), ...TOGETHER]
    .map((scripts) => `^[${classOf([...scripts, 'Common', 'Inherited'])}]*$`)
    .join('|')
  const [isAllowed, isKnown] = [new RegExp(allowed, 'u'), new RegExp(`[${classOf(SCRIPTS)}]`, 'u')]
  return (name) => isKnown.test(name) && !isAllowed.test(name)
}

/**
 * Letters that look like Latin ones in common fonts, after lower-casing: the part of Unicode's confusables (UTS 39) that spells the words
 * below. A table, because the packages on npm with the whole list are no longer kept.
 */
const LOOKALIKES: Readonly<Record<string, string>> = {
  a: 'аαɑᴀꭺ@4',
  b: 'вʙьᏼ8',
  c: 'сϲᴄꮯ',
  d: 'ԁđᴅꭰ',
  e: 'еεєɇᴇꭼ3',
  f: 'ғϝƒꜰ',
  g: 'ɡɢԍꮐ9',
  h: 'һнħʜ',
  i: 'іιıɩɪӏ|!1ⵏꭵ',
  j: 'јᴊꭻ',
  k: 'кκᴋꮶ',
  l: 'łʟꮮ',
  m: 'мᴍꮇ',
  n: 'пηɴ',
  o: 'оοøɵᴏσօ0',
  p: 'рρᴘꮲ',
  q: 'ԛ',
  r: 'гʀꭱ',
  s: 'ѕꜱ$ꮪ5',
  t: 'тτŧᴛꭲ7',
  u: 'υᴜսц',
  v: 'ѵνʋᴠꮩ',
  w: 'ԝωᴡꮃ',
  x: 'хχ',
  y: 'уүγʏ',
  z: 'ζᴢꮓ2',
}
const LATIN = new Map(
  Object.entries(LOOKALIKES).flatMap(([letter, all]) =>
    [...all].map((each) => [each, letter] as const),
  ),
)

/** Words that claim what only the service can say. */
const CLAIMS = ['verified', 'official', 'certified']
/** Shorter names of others are looked for as whole words only. */
const LONG = 5

/** Sequences of Latin letters that look alike. Unlike in usernames, `cl` stays: it would hide an `i` that is written as `l`. */
function fold(word: string): string {
  return word.replaceAll('i', 'l').replaceAll('rn', 'm').replaceAll('vv', 'w')
}

/** The words of a text as skeletons: texts that look alike have the same ones. */
function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}|\p{Default_Ignorable_Code_Point}/gu, '')
  const latin = [...plain.toLowerCase()].map((each) => LATIN.get(each) ?? each).join('')
  return latin
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map(fold)
}

/** The first of some phrases that a text contains, also written in one word or with characters between. */
function phraseIn(text: string, phrases: readonly string[]): string | undefined {
  const words = wordsOf(text)
  const joined = words.join('')
  const spaced = ` ${words.join(' ')} `
  return phrases.find((phrase) => {
    const sought = wordsOf(phrase)
    const shape = sought.join('')
    if (shape === '') return false
    return shape.length < LONG ? spaced.includes(` ${sought.join(' ')} `) : joined.includes(shape)
  })
}

/**
 * Whether a text says of itself that it is verified, official or certified. That it is not may be said: `unofficial`.
 * @returns the word, or null
 */
export function claimIn(text: string): string | null {
  const denied = CLAIMS.map((word) => fold(`un${word}`))
  const words = wordsOf(text).filter((word) => !denied.some((each) => word.startsWith(each)))
  return phraseIn(words.join(' '), CLAIMS) ?? null
}

/**
 * What must not be in a name that its owner chose, because people could take the name for a verification, or for somebody else's.
 * @param reserved names that only the service may use: its own, and those of identity providers
 * @returns as a plural noun for a message; null if there is nothing
 */
export function nameImitationIn(name: string, reserved: readonly string[] = []): string | null {
  const found = imitationIn(name)
  if (found !== null) return found
  if (SYMBOL.test(name)) return 'symbols or emoji'
  if (mixesScripts(name)) return 'letters of several scripts'
  const words = claimIn(name) ?? phraseIn(name, reserved) ?? null
  return words === null ? null : `the words “${words}”, or what looks like them`
}

/**
 * @param field for the message, such as `A display name`
 * @throws CodedError VALIDATION_ERROR if the name imitates a verification or somebody else's name
 */
export function assertHonestName(
  field: string,
  name: string,
  reserved: readonly string[] = [],
): void {
  refuse(field, nameImitationIn(name, reserved))
}

/**
 * A description may name others, and have emoji.
 * @param field for the message
 * @throws CodedError VALIDATION_ERROR if it contains check marks, seals, invisible characters or a claim
 */
export function assertHonestDescription(field: string, text: string): void {
  const claim = claimIn(text)
  refuse(field, imitationIn(text) ?? (claim && `the word “${claim}”, or what looks like it`))
}

function refuse(field: string, found: string | null): void {
  if (found === null) return
  throw new CodedError(
    'VALIDATION_ERROR',
    `${field} must not contain ${found}, because it could look like a verification. Remove them.`,
  )
}
