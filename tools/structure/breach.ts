/** A broken rule at one place. */
export interface Breach {
  /** Relative to the root, with forward slashes. */
  readonly path: string
  /** Counted from 1. */
  readonly line: number
  readonly wrong: string
  readonly mend: string
}

/** Compares by path, then by line. */
export function byPlace(a: Breach, b: Breach): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1
  return a.line - b.line
}
