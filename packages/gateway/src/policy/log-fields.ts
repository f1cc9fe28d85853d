import { parsePolicy } from '@countersign/protocol'
import type { RequireLogged } from './policy.ts'
import { type ReadContext, type Reader, record } from './readers.ts'

/** `requireLogged` */
export const requireLogged: Reader<RequireLogged> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const { policy } = record(value, place, ['policy'], context)
    const fault = policyFault(policy)
    if (fault === null) return { policy: policy as string }
    context.mistakes.push(`${place}.policy is not a tlog-policy with a log and a quorum: ${fault}`)
    return undefined
  },
  {
    accepts:
      'an object with `policy`, a text in the syntax of [tlog-policy](https://c2sp.org/tlog-policy)',
  },
)

/** @returns what is wrong with a tlog-policy, in a sentence; null: nothing */
function policyFault(text: unknown): string | null {
  if (typeof text !== 'string') return 'it is not a text'
  try {
    return parsePolicy(text).logs.length === 0 ? 'it has no line "log"' : null
  } catch (error) {
    return (error as Error).message.replace(/\.$/, '')
  }
}
