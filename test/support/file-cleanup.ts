import { after } from 'node:test'
import type { Cleanup } from './service.ts'

/** For all ends of a file, in milliseconds. */
const TIMEOUT = 60_000

/** What the tests of one file share: it ends after the last of them, in reverse order, whatever one of the ends throws. */
export function fileCleanup(): Cleanup {
  const ends: (() => unknown)[] = []
  after(
    async () => {
      const errors: unknown[] = []
      for (const end of ends.toReversed()) {
        try {
          await end()
        } catch (error) {
          errors.push(error)
        }
      }
      if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors)
    },
    { timeout: TIMEOUT },
  )
  return { after: (end) => ends.push(end) }
}
