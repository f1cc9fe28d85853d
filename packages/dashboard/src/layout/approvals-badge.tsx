import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { followAccount } from '../api/account-stream.ts'
import { APPROVALS_KEY, approvalsQuery } from '../approvals/queries.ts'

/** What brings, decides or cancels an approval. */
const CONCERNS_APPROVALS = /approval|suspended|revoked|renounced|key_/

/** The number of pending approvals, in the navigation. Keeps all that the pages show of approvals up to date. */
export function ApprovalsBadge() {
  const pending = useInfiniteQuery(approvalsQuery('pending')).data?.pages[0]?.pending ?? 0
  const queries = useQueryClient()
  useEffect(() => {
    const refresh = () => void queries.invalidateQueries({ queryKey: APPROVALS_KEY })
    return followAccount({
      onEvent: (type) => CONCERNS_APPROVALS.test(type) && refresh(),
      onInterrupted: refresh,
    })
  }, [queries])
  if (pending === 0) return null
  return (
    <>
      <span className="sr-only"> ({pending} pending)</span>
      {/* Beside the flow, so that nothing moves when it comes. */}
      <span
        aria-hidden="true"
        className="absolute -top-2 left-full -ml-1.5 min-w-4 rounded-full bg-accent px-1 text-center font-semibold text-[0.6875rem]/4 text-on-accent"
      >
        {pending}
      </span>
    </>
  )
}
