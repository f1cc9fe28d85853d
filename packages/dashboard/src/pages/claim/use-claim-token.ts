import type { IssuedToken } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'

export interface ClaimToken {
  readonly value: string
  /** Its initial lifetime. */
  readonly seconds: number
  /** When it expires by this browser's clock, which may differ from the service's. */
  readonly deadline: number
  /** When it was created and when it expires by the service's clock, in Unix milliseconds. */
  readonly since: number
  readonly expiresAt: number
}

/** The token created on this page. It is stored nowhere else, and lost when the user leaves. */
export function useClaimToken() {
  const [token, setToken] = useState<ClaimToken | null>(null)
  const withRecentSignIn = useRecentSignIn()
  const making = useAction(async () => {
    const issued = await withRecentSignIn(() => send<IssuedToken>('POST', '/api/agents/token'))
    const { claimToken: value, expiresIn: seconds } = issued
    const expiresAt = Date.parse(issued.expiresAt)
    const lifetime = seconds * 1000
    const deadline = Date.now() + lifetime
    if (token !== null && token.deadline > Date.now()) {
      toast('A new token is made. The one before it is no longer good.')
    }
    setToken({ value, seconds, deadline, since: expiresAt - lifetime, expiresAt })
  })
  return { token, making }
}

/** The action that creates a token. */
export type Making = ReturnType<typeof useClaimToken>['making']
