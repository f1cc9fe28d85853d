import { useRef, useState } from 'react'
import { offerPasskeys } from '../../api/passkeys.ts'

interface Offer {
  /** Begins it, the first time that it is called. */
  readonly offer: () => void
  /** What went wrong with a passkey that the person has taken; null where nothing did. */
  readonly error: unknown
}

/**
 * Lets the browser offer passkeys where it completes the username. Not before the person comes near that field: each
 * offer is a challenge that the service keeps, and most visits need none.
 */
export function useOfferedPasskeys(onSignedIn: () => Promise<void>): Offer {
  const begun = useRef(false)
  const [error, setError] = useState<unknown>(null)

  async function begin(): Promise<void> {
    if (begun.current) return
    begun.current = true
    try {
      if ((await offerPasskeys()) !== null) await onSignedIn()
    } catch (cause) {
      setError(cause)
    }
  }

  return { offer: () => void begin(), error }
}
