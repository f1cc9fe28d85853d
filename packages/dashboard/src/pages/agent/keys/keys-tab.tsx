import type { AgentKeys, AgentStatus } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { keysQuery } from '../../../agents/queries.ts'
import { useMay } from '../../../api/use-may.ts'
import { Button } from '../../../components/button.tsx'
import { CopyField } from '../../../components/copy-field.tsx'
import { DateTime } from '../../../components/date-time.tsx'
import { ErrorNote, Note } from '../../../components/error-note.tsx'
import { Section } from '../../../components/page.tsx'
import { Loading, Skeleton } from '../../../components/skeleton.tsx'
import { useAgent } from '../agent-tabs.ts'
import { ContestDialog } from './contest-dialog.tsx'
import { type Contestable, type ContestProps, contestableKeys, type Key } from './contestable.ts'
import { CHANGE_TEXTS, KeyHistory } from './key-history.tsx'
import { KeyStateMark } from './key-state-mark.tsx'
import { PendingRecovery } from './pending-recovery.tsx'
import { RenouncedSection } from './renounced-section.tsx'
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
      {data && <LoadedKeys keys={data.keys} pending={data.recovery} renouncing={data.renouncing} />}
    </>
  )
}

interface LoadedKeysProps {
  readonly keys: AgentKeys['keys']
  readonly pending: AgentKeys['recovery']
  readonly renouncing: AgentKeys['renouncing']
}

function LoadedKeys({ keys, pending, renouncing }: LoadedKeysProps) {
  const { did, agent } = useAgent()
  const recovery = useRecovery(did)
  const currentKey = keys.at(-1)
  const isRevoked = agent.status === 'revoked'
  const isEnrolled = agent.enrolment !== null
  const contestable = contestableKeys(keys, Date.now())
  const may = useMay()

  return (
    <div className="flex max-w-3xl flex-col gap-8">
      {renouncing !== null && currentKey && (
        <RenouncedSection
          currentKey={currentKey}
          renouncing={renouncing}
          pending={pending}
          recovery={recovery}
          isEnrolled={isEnrolled}
        />
      )}
      {pending !== null && (
        <PendingRecovery
          did={did}
          pending={pending}
          recovery={recovery}
          isRenounced={renouncing !== null}
        />
      )}
      {currentKey && (
        <CurrentKey currentKey={currentKey} status={agent.status} isEnrolled={isEnrolled} />
      )}
      {!isRevoked && isAny(contestable) && may('responder') && (
        <ContestSection did={did} contestable={contestable} isRecovering={pending !== null} />
      )}
      {!isRevoked &&
        !isEnrolled &&
        pending === null &&
        renouncing === null &&
        currentKey &&
        may('manager') && <StartRecovery recovery={recovery} state={currentKey.state} />}
      {!isRevoked && isEnrolled && (
        <Note>
          <p>
            A workload has enrolled this agent, so its key is neither rotated nor recovered. If the
            key is stolen, report it below. If it is lost or stolen, revoke the agent: its workload
            enrols again with a new key, and gets a new DID.
          </p>
        </Note>
      )}
      <KeyHistory keys={keys} />
      {!isEnrolled && (
        <p className="max-w-2xl text-pretty text-soft">
          You are notified of each step on the dashboard, and by e-mail if you verified an address.
          To start a recovery, sign in again with a passkey or provider that you added at least 72
          hours ago, or with the passkey that created the account. The sign-in counts for 10
          minutes.{' '}
          <a href="/docs/key-recovery" className="text-accent underline">
            How key recovery works
          </a>
        </p>
      )}
    </div>
  )
}

function isAny(
  contestable: readonly Contestable[],
): contestable is readonly [Contestable, ...Contestable[]] {
  return contestable.length > 0
}

/** Contests the rotations of the last 72 hours. */
export function ContestSection(props: ContestProps) {
  const [open, setOpen] = useState(false)
  const [{ key, until }] = props.contestable
  return (
    <Section
      title="The key was replaced"
      lead={
        <>
          The agent replaced key {key.sequence}
          {key.until !== null && (
            <>
              {' '}
              on <DateTime at={key.until} as="minute" />
            </>
          )}
          . If you did not expect this, contest it before{' '}
          <DateTime at={new Date(until).toISOString()} as="minute" />.
        </>
      }
    >
      <Button variant="warning" className="self-start" onClick={() => setOpen(true)}>
        Contest …
      </Button>
      <ContestDialog {...props} open={open} onClose={() => setOpen(false)} />
    </Section>
  )
}

interface CurrentKeyProps {
  readonly currentKey: Key
  readonly status: AgentStatus
  /** Whether a workload has enrolled the agent, so that it gets no other key. */
  readonly isEnrolled: boolean
}

/** The key with the highest number. It may be burned, until the agent is recovered. */
export function CurrentKey({ currentKey, status, isEnrolled }: CurrentKeyProps) {
  const { keyThumbprint, sequence, from, changedBy, state } = currentKey
  return (
    <Section title="Current key" actions={<KeyStateMark state={state} />}>
      {state === 'compromised' && (
        <Note tone="bad">
          <p>
            This key was reported as compromised. It verifies nowhere, and nobody can claim it
            again.
            {status !== 'revoked' &&
              (isEnrolled ? ' Revoke the agent.' : ' The agent needs a new key.')}
          </p>
        </Note>
      )}
      {state === 'lost' && (
        <Note tone="bad">
          <p>
            The service was restored from a backup that does not have this key. It verifies nowhere.
            {status !== 'revoked' &&
              (isEnrolled
                ? ' The agent stays suspended. Revoke it: its workload can enrol again.'
                : ' The agent stays suspended until you recover it: with the same key, or with a new one.')}
          </p>
        </Note>
      )}
      <CopyField label="Thumbprint" value={keyThumbprint} />
      <dl className="grid gap-x-8 gap-y-4 sm:grid-cols-3">
        <Detail name="Key number">{sequence}</Detail>
        <Detail name="Current since">
          <DateTime at={from} as="minute" />
        </Detail>
        <Detail name="Set by">{CHANGE_TEXTS[changedBy]}</Detail>
      </dl>
    </Section>
  )
}

function Detail({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-soft text-sm">{name}</dt>
      <dd className="mt-0.5 text-pretty">{children}</dd>
    </div>
  )
}
