import { ERROR_STATUS } from '@countersign/protocol'
import type { Answer } from './answer.ts'
import type { Check } from './check.ts'
import { codeOf, expectShape, Mismatch, object, someText, textLike } from './expect.ts'

/** The codes of the contract, section 7. The status of further codes is a choice of the deployment. */
const CONTRACT_CODES = [
  'VALIDATION_ERROR',
  'INVALID_SIGNATURE',
  'NOT_FOUND',
  'KEY_ALREADY_CLAIMED',
  'TOKEN_EXPIRED',
  'INTERNAL_ERROR',
  'RATE_LIMITED',
] as const

const ENVELOPE = object({
  error: object({
    code: textLike(/^[A-Z][A-Z0-9_]*$/, 'a code'),
    message: someText,
    requestId: textLike(/^req_./, 'req_ and an identifier'),
  }),
})

/** Checks of all errors that the other checks have met. They run last. */
export const ERROR_CHECKS: readonly Check[] = [
  ofEachError('Every error has the envelope, with a requestId of its form', (answer) => {
    if (answer.body === undefined) throw new Mismatch(answer.request, 'a JSON body', 'another body')
    expectShape(`${answer.request} (${answer.status})`, answer.body, ENVELOPE)
  }),
  ofEachError('Every code comes with its HTTP status', (answer) => {
    const known = CONTRACT_CODES.find((each) => each === codeOf(answer))
    if (known !== undefined && ERROR_STATUS[known] !== answer.status) {
      const { request, status } = answer
      throw new Mismatch(request, `${ERROR_STATUS[known]} ${known}`, `${status} ${known}`)
    }
  }),
  ofEachError('No request caused an unexpected error, and 429 is RATE_LIMITED', (answer) => {
    const { request, status } = answer
    const code = codeOf(answer)
    if (status === 500) throw new Mismatch(request, 'no unexpected error', `500 ${code}`)
    if (status === 429 && code !== 'RATE_LIMITED') {
      throw new Mismatch(request, '429 RATE_LIMITED', `429 ${code}`)
    }
  }),
]

function ofEachError(title: string, examined: (answer: Answer) => void): Check {
  return {
    section: '7',
    title,
    async run({ client }, examine) {
      for (const answer of client.errors) {
        await examine(answer.request, async () => examined(answer))
      }
    },
  }
}
