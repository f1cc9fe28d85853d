/** How many hops a chain may have, in words. */
export function levels(count: number): string {
  return count === 1 ? '1 level' : `${count} levels`
}
