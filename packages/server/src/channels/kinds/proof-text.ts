import type { Proof } from './kind.ts'

/**
 * The text that an account shows to prove that it is the agent's. At most 70 characters, which is what a bio holds on
 * Telegram, and nothing in it of which a platform makes a link, a mention or a hashtag.
 */
export function proofText({ naming, did, token }: Proof): string {
  return `${naming.shortName}-proof:${did.slice(naming.didPrefix.length)}-${token}`
}

// What people write around a text that they copy: brackets, quotes, a full stop, a bar between two things. Of no such
// sign more than a few, so that a text full of them costs no time.
const OPENING = '[(\\[{<"\'“‘„«]{0,4}'
const CLOSING = '[)\\]}>"\'”’“»,;.!?]{0,4}'
const GAP = '[\\s|·•]'

/**
 * Whether one of the texts holds the wanted one by itself: not as a part of a longer word, an address or another proof.
 * @param wanted letters, digits, `-` and `:` alone
 */
export function standsIn(texts: readonly string[], wanted: string): boolean {
  const alone = new RegExp(`(?<=(?:^|${GAP})${OPENING})${wanted}(?=${CLOSING}(?:$|${GAP}))`, 'u')
  return texts.some((text) => alone.test(text))
}
