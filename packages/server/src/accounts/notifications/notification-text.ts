/** A notification in words. Plain text, in which names that somebody chose are quoted and cleaned. */
export interface NotificationText {
  /** What happened, in a sentence without a full stop. Also the subject of the e-mail. */
  readonly title: string
  /** What follows from it, and what to do. */
  readonly text: string
  /** The path of the page where the owner can act, or null. */
  readonly link: string | null
}

/** What to do about an act that was not one's own. */
export const IF_NOT_YOU =
  ' If this was not you, end all other sessions, remove sign-in methods, API keys, webhooks and grant issuers that you do not know, and create new recovery codes.'

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
const MINUTE = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
})

/** @param at milliseconds since the Unix epoch */
export function day(at: unknown): string {
  return DAY.format(Number(at))
}

/** @param at milliseconds since the Unix epoch */
export function minute(at: unknown): string {
  return `${MINUTE.format(Number(at))} UTC`
}

/** Characters that hide text or change its direction, and separators of lines. */
const DECEPTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const MAX_LENGTH = 64

/**
 * Quotes a name that an agent or an owner chose. Mail programs make links of what looks like an address, so that the
 * characters of addresses are replaced: the only links of an e-mail are the service's own.
 */
export function selfDeclared(name: string): string {
  const characters = [...name.normalize('NFKC').replaceAll(DECEPTIVE, ' ')]
  const cut = characters.length > MAX_LENGTH
  const text = `${characters.slice(0, MAX_LENGTH).join('')}${cut ? '…' : ''}`
  const inert = text
    .replaceAll(/[“”"]/g, '’')
    .replaceAll('@', ' at ')
    .replaceAll(/[:/\\]+/g, ' ')
    .replaceAll(/[.\u3002](?=\S)/g, '·')
  return `“${inert.replaceAll(/\s+/gu, ' ').trim()}”`
}
