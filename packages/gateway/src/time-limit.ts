/** Waits for a promise for so many milliseconds at most. @returns `late` if it takes longer */
export async function withTimeLimit<T>(
  promise: Promise<T>,
  milliseconds: number,
): Promise<T | 'late'> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), milliseconds)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
