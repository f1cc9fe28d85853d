import type { TestContext } from 'node:test'

/** Prints what the fault did and what was found afterwards, one line per entry. */
export function report(
  t: Pick<TestContext, 'diagnostic'>,
  fields: Readonly<Record<string, string | number>>,
): void {
  for (const [what, fact] of Object.entries(fields)) t.diagnostic(`${what}: ${fact}`)
}
