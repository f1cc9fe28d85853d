/** Words and phrases that no text for people has, in lower case, each with the standard term. */
const FORBIDDEN: readonly (readonly [pattern: RegExp, use: string])[] = [
  [/\bwhoever\b/, 'anyone who, the operator'],
  [/\bwhose it is\b/, 'the owner'],
  [/\b(?:stands?|stood) behind\b/, 'owns, the owner of'],
  [/\bwhat (?:it|they|this) (?:is|are) worth\b/, 'assurance level'],
  [/\bcomes? in by\b/, 'signs in with'],
  [/\bgood (?:once|until)\b/, 'single-use, valid until'],
  [/\b(?:is|are) told\b/, 'receives'],
  [/\b(?:is|are) looked for\b/, 'is checked'],
  [/\bgo(?:es)? by\b/, 'is called, self-declared name'],
  [/\b(?:makes?|made|verify it|prove it) anew\b/, 'creates again'],
  [/\bfacts?\b/, 'payload, settings, data'],
  [/\bnothing yet\b/, 'No verifications yet'],
  [/\ball the same\b/, 'still'],
  [/\bto be proven\b/, 'pending'],
  [/\bin force\b/, 'valid'],
  [/\bno end is set\b/, 'does not expire'],
  [/\b(?:lets?|let) you in\b/, 'sign-in method'],
  [/\bways in\b/, 'sign-in methods'],
  [/\b(?:certificate|it|agent) stands\b/, 'certificate status'],
  [/\bhow (?:its|the|a) certificate stands\b/, 'certificate status'],
  [/\b(?:hosts?|you host) (?:a|the|this) service\b/, 'operator'],
  [/\bhosts\b/, 'operators'],
  [/\brooms?\b/, 'limit'],
  [/\blookouts?\b/, 'monitor'],
  [/\blate reads\b/, 'staleness'],
  [/\bhaving it proven\b/, 'proof of possession'],
  [/\bvouch(?:es)?\b/, 'certifies'],
]

/** @returns each forbidden word of a text for people, in its context and with what to write instead */
export function forbiddenWords(text: string): string[] {
  const lower = text.toLowerCase()
  return FORBIDDEN.flatMap(([pattern, use]) =>
    [...lower.matchAll(new RegExp(pattern, 'g'))].map(({ index, 0: word }) => {
      const around = text.slice(Math.max(0, index - 40), index + word.length + 40)
      return `“${word}” (write: ${use}) in “${around}”`
    }),
  )
}
