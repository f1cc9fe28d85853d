import type { TestContext } from 'node:test'

/** Prints what a fault did and what was found afterwards, a line for each fact. */
export function report(
  t: Pick<TestContext, 'diagnostic'>,
  facts: Readonly<Record<string, string | number>>,
): void {
  for (const [what, fact] of Object.entries(facts)) t.diagnostic(`${what}: ${fact}`)
}
