import type { AgentKeys, IssuedRecoveryToken, RecoveryReason } from '@countersign/protocol'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { AGENTS_KEY, keysQuery, pathOf } from '../../../agents/queries.ts'
import { send } from '../../../api/client.ts'
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx'

/** A recovery token that was issued on this page. It is stored nowhere else, and lost when the user leaves. */
export interface RecoveryToken {
  readonly value: string
  /** Its initial lifetime. */
  readonly seconds: number
  /** When it expires by this browser's clock, which may differ from the service's. */
  readonly deadline: number
  /** The recovery that was pending when it was issued. */
  readonly recovery: AgentKeys['recovery']
}

/** The owner's operations on the recovery of an agent's key, all of which need a recent sign-in. */
export interface RecoveryActions {
  readonly start: (reason: RecoveryReason) => Promise<void>
  readonly reissueToken: () => Promise<void>
  readonly cancel: () => Promise<void>
  /** The newest token; null if none was issued on this page. */
  readonly token: RecoveryToken | null
}

export function useRecovery(did: string): RecoveryActions {
  const [token, setToken] = useState<RecoveryToken | null>(null)
  const withRecentSignIn = useRecentSignIn()
  const queries = useQueryClient()
  const refresh = useRefreshAgent()
  const path = `${pathOf(did)}/recovery`

  async function issue(at: string, body: { readonly reason?: RecoveryReason }): Promise<void> {
    const issued = await withRecentSignIn(() => send<IssuedRecoveryToken>('POST', at, body))
    const { recoveryToken: value, expiresIn: seconds } = issued
    const deadline = Date.now() + seconds * 1000
    await refresh()
    const recovery = queries.getQueryData(keysQuery(did).queryKey)?.recovery ?? null
    setToken({ value, seconds, deadline, recovery })
  }

  return {
    token,
    start: (reason) => issue(path, { reason }),
    reissueToken: () => issue(`${path}/token`, {}),
    async cancel() {
      await withRecentSignIn(() => send('DELETE', path))
      await refresh()
    },
  }
}

/** Reads the agents again, with their keys and histories, after a change. */
export function useRefreshAgent(): () => Promise<void> {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: AGENTS_KEY })
}
