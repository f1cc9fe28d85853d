import type { IssuedToken, IssuedTokens } from '@countersign/protocol'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'

/** The tokens of one issuance. */
export interface ClaimTokens {
  /** At least one. */
  readonly values: readonly string[]
  /** Their initial lifetime. */
  readonly seconds: number
  /** When they expire by this browser's clock, which may differ from the service's. */
  readonly deadline: number
  /** When they were created and when they expire by the service's clock, in Unix milliseconds. */
  readonly since: number
  readonly expiresAt: number
}

/** The tokens created on this page. They are stored nowhere else, and lost when the user leaves. */
export function useClaimTokens() {
  const [tokens, setTokens] = useState<ClaimTokens | null>(null)
  const withRecentSignIn = useRecentSignIn()
  const creating = useAction(async (count: number) => {
    const issued = await withRecentSignIn(() => issue(count))
    const { values, expiresIn: seconds } = issued
    const expiresAt = Date.parse(issued.expiresAt)
    const lifetime = seconds * 1000
    const deadline = Date.now() + lifetime
    if (tokens !== null && tokens.deadline > Date.now()) {
      toast('The previous unused tokens are no longer valid.')
    }
    setTokens({ values, seconds, deadline, since: expiresAt - lifetime, expiresAt })
  })
  return { tokens, creating }
}

/** The action that creates tokens. */
export type Creating = ReturnType<typeof useClaimTokens>['creating']

async function issue(count: number) {
  if (count === 1) {
    const { claimToken, ...rest } = await send<IssuedToken>('POST', '/api/agents/token')
    return { values: [claimToken], ...rest }
  }
  const { claimTokens, ...rest } = await send<IssuedTokens>('POST', '/api/agents/tokens', { count })
  return { values: claimTokens, ...rest }
}
