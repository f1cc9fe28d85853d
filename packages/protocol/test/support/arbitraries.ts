import fc from 'fast-check'
import { AGENT_ID_PATTERN, BASE58_ALPHABET, type ClaimToken } from '../../src/index.ts'

export const keyBytes = fc.uint8Array({ minLength: 32, maxLength: 32 })

export const tail = fc.string({
  unit: fc.constantFrom(...BASE58_ALPHABET),
  minLength: 24,
  maxLength: 24,
})

const hexDigit = fc.constantFrom(...'0123456789abcdef')

export const claimToken = fc
  .string({ unit: hexDigit, minLength: 32, maxLength: 32 })
  .map((digits) => `svc-verify-${digits}` as ClaimToken)

/** Labels, pipes and claim tokens among their letters: what could confuse a claim's bytes. */
export const agentId = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom('|', 'a', '-', 'svc-verify-', ' '),
      minLength: 1,
      maxLength: 9,
    }),
    fc.tuple(claimToken, fc.constantFrom('', '|', '|a')).map(([token, rest]) => token + rest),
  )
  .filter((text) => AGENT_ID_PATTERN.test(text))
