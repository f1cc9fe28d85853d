import { after } from 'node:test'
import type { Cleanup } from './service.ts'

/** What the tests of one file share: it ends after the last of them, in reverse order. */
export function fileCleanup(): Cleanup {
  const ends: (() => unknown)[] = []
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  return { after: (end) => ends.push(end) }
}
