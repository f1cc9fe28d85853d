import { useRef, useState } from 'react'

interface Action<A extends unknown[]> {
  readonly run: (...input: A) => void
  readonly pending: boolean
  /** The last error, or null. For `ErrorNote`. */
  readonly error: unknown
}

/** Runs an action for a button: ignores clicks while it runs, and keeps its error. */
export function useAction<A extends unknown[]>(act: (...input: A) => Promise<unknown>): Action<A> {
  const busy = useRef(false)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>(null)

  async function run(...input: A): Promise<void> {
    if (busy.current) return
    busy.current = true
    setPending(true)
    setError(null)
    try {
      await act(...input)
    } catch (cause) {
      setError(cause)
    } finally {
      busy.current = false
      setPending(false)
    }
  }

  return { run: (...input) => void run(...input), pending, error }
}
