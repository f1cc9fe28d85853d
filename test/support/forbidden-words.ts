/**
 * Wordings that no text for people uses, with the standard term for each. `npm test` searches the dashboard's and the
 * pages' sources for them.
 */
export const FORBIDDEN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bwhoever\b/i, 'you, anyone who'],
  [/\bwhose (it|this) is\b/i, 'the owner'],
  [/\b(stands?|stood|standing) behind\b/i, 'owner, owner verification'],
  [/\bwhat it is worth\b/i, 'assurance level, points'],
  [/\b(comes?|came|gets?|let(s|ting)?) (you )?in (by|with|all the same)\b/i, 'sign in with'],
  [/\bgood (once|for one|until|for (ten|five|\d+))\b/i, 'works once, expires'],
  [/\b(is|are) told\b/i, 'sees, receives'],
  [/\blooked for\b/i, 'checked, next check'],
  [/\bgoes by\b/i, 'is called, self-declared name'],
  [/\b(makes?|made|making|proven?|begins?|starts?) anew\b/i, 'again, renew'],
  [/\bnothing yet\b/i, 'no … yet'],
  [/\ball the same\b/i, '(leave out)'],
  [/\bto be proven\b/i, 'pending'],
  [/\bin force\b/i, 'valid'],
  [/\bin order\b(?! to)/i, 'valid'],
  [/\bways? in\b/i, 'sign-in method'],
  [/\bno end is set\b/i, 'does not expire'],
  [/\bhow (it|its certificate) stands\b/i, 'status'],
  [/\bfor good\b/i, 'permanently'],
  [/\bcounts? no more\b/i, 'is no longer verified'],
  [/\btake(n|s)? away\b/i, 'removed'],
  [/\bin other hands\b/i, 'compromised'],
]

/** @returns a sentence for each forbidden wording in the text */
export function forbiddenWordsIn(text: string): string[] {
  return FORBIDDEN_WORDS.flatMap(([pattern, better]) => {
    const found = pattern.exec(text)?.[0]
    return found === undefined ? [] : [`“${found}”: write ${better}`]
  })
}
