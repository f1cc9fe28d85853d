import type { IssuedToken } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { toast } from '../../parts/toast.tsx'
import { useAction } from '../../parts/use-action.ts'

export interface ClaimToken {
  readonly value: string
  /** How long it was good for when it was made. */
  readonly seconds: number
  /** When it ends, by this browser's clock, which may differ from the service's. */
  readonly deadline: number
  /** When it was made and when it ends, by the service's clock, in milliseconds since 1970. */
  readonly since: number
  readonly expiresAt: number
}

/** The token that this page has made, if any. It is nowhere else: who leaves the page makes another. */
export function useClaimToken() {
  const [token, setToken] = useState<ClaimToken | null>(null)
  const making = useAction(async () => {
    const issued = await send<IssuedToken>('POST', '/api/agents/token')
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

/** Making a token: what a button does, and what became of it. */
export type Making = ReturnType<typeof useClaimToken>['making']
