import type { AgentKeys } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { keysQuery } from '../../../agents/queries.ts'
import { ErrorNote } from '../../../components/error-note.tsx'
import { Loading, Skeleton } from '../../../components/skeleton.tsx'
import { useAgent } from '../agent-tabs.ts'
import { ContestSection } from './contest-section.tsx'
import { type Contestable, contestableKeys } from './contestable.ts'
import { CurrentKey } from './current-key.tsx'
import { KeyHistory } from './key-history.tsx'
import { PendingRecovery } from './pending-recovery.tsx'
import { StartRecovery } from './start-recovery.tsx'
import { useRecovery } from './use-recovery.ts'

/** The keys of the agent: the current one, a pending recovery, what to do about a lost or stolen key, and the history. */
export function KeysTab() {
  const { did } = useAgent()
  const { data, error, isPending, refetch } = useQuery(keysQuery(did))
  return (
    <>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the keys" />
          <Skeleton className="h-72 max-w-3xl rounded-2xl" />
        </>
      )}
      {data && <LoadedKeys keys={data.keys} pending={data.recovery} />}
    </>
  )
}

interface LoadedKeysProps {
  readonly keys: AgentKeys['keys']
  readonly pending: AgentKeys['recovery']
}

function LoadedKeys({ keys, pending }: LoadedKeysProps) {
  const { did, agent } = useAgent()
  const recovery = useRecovery(did)
  const currentKey = keys.at(-1)
  const isRevoked = agent.status === 'revoked'
  const contestable = contestableKeys(keys, Date.now())

  return (
    <div className="flex max-w-3xl flex-col gap-8">
      {pending !== null && <PendingRecovery did={did} pending={pending} recovery={recovery} />}
      {currentKey && <CurrentKey currentKey={currentKey} status={agent.status} />}
      {!isRevoked && isAny(contestable) && (
        <ContestSection did={did} contestable={contestable} isRecovering={pending !== null} />
      )}
      {!isRevoked && pending === null && currentKey && (
        <StartRecovery recovery={recovery} state={currentKey.state} />
      )}
      <KeyHistory keys={keys} />
      <p className="max-w-2xl text-pretty text-soft">
        You are notified of each step on the dashboard, and by e-mail if you verified an address.
        Starting a recovery needs a sign-in of the last 10 minutes, with a passkey or provider that
        you added at least 72 hours ago.{' '}
        <a href="/docs/key-recovery" className="text-accent underline">
          How key recovery works
        </a>
      </p>
    </div>
  )
}

function isAny(
  contestable: readonly Contestable[],
): contestable is readonly [Contestable, ...Contestable[]] {
  return contestable.length > 0
}
