import { useRef, useState } from 'react'
import { signInWithPasskeyAutofill } from '../../api/passkeys.ts'

interface Offer {
  /** Starts the autofill request on the first call. */
  readonly offer: () => void
  /** The error of a passkey that the user selected, or null. */
  readonly error: unknown
}

/**
 * Offers passkeys in the username field's autofill. Starts when the user approaches the field, because each request
 * creates a challenge on the service.
 */
export function usePasskeyAutofill(onSignedIn: () => Promise<void>): Offer {
  const begun = useRef(false)
  const [error, setError] = useState<unknown>(null)

  async function begin(): Promise<void> {
    if (begun.current) return
    begun.current = true
    try {
      if ((await signInWithPasskeyAutofill()) !== null) await onSignedIn()
    } catch (cause) {
      setError(cause)
    }
  }

  return { offer: () => void begin(), error }
}
