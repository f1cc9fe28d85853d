import type { AgentKeys } from '@countersign/protocol'
import { useState } from 'react'
import { useMay } from '../../../api/use-may.ts'
import { Button } from '../../../components/button.tsx'
import { DateTime } from '../../../components/date-time.tsx'
import { Note } from '../../../components/error-note.tsx'
import { Section } from '../../../components/page.tsx'
import type { Key } from './contestable.ts'
import { StartRecoveryDialog } from './recovery-dialogs.tsx'
import { ReportKeyDialog } from './report-key-dialog.tsx'
import type { RecoveryActions } from './use-recovery.ts'

interface RenouncedSectionProps {
  readonly currentKey: Key
  readonly renouncing: NonNullable<AgentKeys['renouncing']>
  readonly pending: AgentKeys['recovery']
  readonly recovery: RecoveryActions
  /** Whether a workload has enrolled the agent, so that its key cannot be recovered. */
  readonly isEnrolled: boolean
}

/** The current key has renounced the agent: until when the owner can stop the revocation, and how. */
export function RenouncedSection({
  currentKey,
  renouncing,
  pending,
  recovery,
  isEnrolled,
}: RenouncedSectionProps) {
  const [dialog, setDialog] = useState<'recover' | 'report' | null>(null)
  const may = useMay()
  const close = () => setDialog(null)
  const end = <DateTime at={renouncing.finalAt} as="minute" />
  return (
    <Section title="The agent renounced its certificate">
      <Note tone="bad">
        {pending?.redeemedAt ? (
          <p>
            The revocation waits for the pending recovery: the agent becomes active with its new
            key. If you cancel the recovery, the agent is revoked on {end}, or at once if that has
            passed.
          </p>
        ) : (
          <p>
            The agent is suspended, and is revoked permanently on {end}. If the agent did not do
            this, its key was stolen.{' '}
            {isEnrolled
              ? 'Its workload can enrol again with a new key.'
              : 'Give the agent a new key before then: the recovery must be started and its token redeemed.'}
          </p>
        )}
      </Note>
      <div className="flex flex-wrap items-center gap-3">
        {pending === null && !isEnrolled && may('manager') && (
          <Button variant="primary" onClick={() => setDialog('recover')}>
            Recover with a new key …
          </Button>
        )}
        {may('responder') && (
          <Button variant="warning" onClick={() => setDialog('report')}>
            Report as stolen …
          </Button>
        )}
      </div>
      <p className="max-w-2xl text-pretty text-soft text-sm">
        A report burns the key and stops the revocation. Without a report, other owners can claim
        the key once the agent has a new one or is revoked.
      </p>
      <StartRecoveryDialog
        recovery={recovery}
        reason="key_lost"
        variant="renounced"
        open={dialog === 'recover'}
        onClose={close}
      />
      <ReportKeyDialog reported={currentKey} isCurrent open={dialog === 'report'} onClose={close} />
    </Section>
  )
}
