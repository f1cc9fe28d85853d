/**
 * Words and phrases that no text for people uses, each with what to write instead. Only patterns that correct English in the
 * field's standard terms does not need, so plain "keeps", "where" or "host" are not among them.
 */
const FORBIDDEN: readonly (readonly [pattern: RegExp, use: string])[] = [
  [/\bwhoever\b/, 'you, anyone who, the operator'],
  [/\bwhose (?:it|this) is\b/, 'the owner'],
  [/\bthose who\b/, 'the operator, the owner, relying parties'],
  [/\b(?:stands?|stood|standing) (?:behind|for you)\b/, 'owns, the owner of, your verifications'],
  [/\bwhat (?:it|they|this|that) (?:is|are) worth\b/, 'assurance level'],
  [/\b(?:comes?|came|gets?) in (?:by|with|all the same)\b/, 'signs in with'],
  [/\bgood (?:once|until|for (?:one|ten|five|\d+))\b/, 'single-use, valid until, expires'],
  [/\b(?:is|are) told\b/, 'receives, sees'],
  [/\blooked for\b/, 'checked, next check'],
  [/\bgo(?:es)? by\b/, 'is called, self-declared name'],
  [/\banew\b/, 'again, a new one, renews'],
  [/(?<=[a-z,] )facts?(?=[ .,;])/, 'payload, settings, metadata, data'],
  [/\bnothing yet\b/, 'no … yet'],
  [/\ball the same\b/, 'still (or leave it out)'],
  [/\bto be proven\b/, 'pending'],
  [/\b(?:have|having|has) it proven\b/, 'proof of possession'],
  [/\bproof that (?:it|they) holds? the key\b/, 'proof of possession'],
  [/\b(?:in|into) force\b/, 'valid, active'],
  [/\b(?:are|be|is) in order\b(?! (?:to|of))/, 'valid'],
  [/\bno end is set\b/, 'does not expire'],
  [/\blet(?:s|ting)? you in\b/, 'sign-in method'],
  [/\bways? in\b(?! which)/, 'sign-in method'],
  [/\b(?:certificate|(?<!as )it|agent)s? stands?\b/, 'certificate status'],
  [/\b(?:hosts?|you host) (?:a|the|this) service\b/, 'operator'],
  [/\bfor the host\b|\bthe host (?:adds|creates|makes|names|runs|says)\b/, 'the operator'],
  [/\b(?<!make )rooms?\b/, 'limit, capacity'],
  [/\blookouts?\b/, 'monitor'],
  [/\blate reads?\b/, 'staleness'],
  [/\bvouch(?:es|ed|ing)?\b/, 'certifies, answers'],
  [/\bfor good\b/, 'permanently'],
  [/\bcounts? no more\b/, 'is no longer verified'],
  [/\btak(?:es?|en|ing) (?:it |them )?away\b/, 'removes'],
  [/\bin other hands\b/, 'compromised'],
]

/** @returns each forbidden word of a text for people, in its context and with what to write instead */
export function forbiddenWords(text: string): string[] {
  const flowing = text.replaceAll(/\s+/g, ' ')
  const lower = flowing.toLowerCase()
  return FORBIDDEN.flatMap(([pattern, use]) =>
    [...lower.matchAll(new RegExp(pattern, 'g'))].map(({ index, 0: word }) => {
      const around = flowing.slice(Math.max(0, index - 40), index + word.length + 40)
      return `“${word}” (write: ${use}) in “${around}”`
    }),
  )
}
