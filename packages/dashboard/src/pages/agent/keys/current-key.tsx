import type { AgentStatus } from '@countersign/protocol'
import { CopyField } from '../../../components/copy-field.tsx'
import { DateTime } from '../../../components/date-time.tsx'
import { Note } from '../../../components/error-note.tsx'
import { Section } from '../../../components/page.tsx'
import type { Key } from './contestable.ts'
import { CHANGE_TEXTS } from './key-history.tsx'
import { KeyStateMark } from './key-state-mark.tsx'

interface CurrentKeyProps {
  readonly currentKey: Key
  readonly status: AgentStatus
}

/** The key with the highest number. It may be burned, until the agent is recovered. */
export function CurrentKey({ currentKey, status }: CurrentKeyProps) {
  const { keyThumbprint, sequence, from, changedBy, state } = currentKey
  return (
    <Section title="Current key" actions={<KeyStateMark state={state} />}>
      {state === 'compromised' && (
        <Note tone="bad">
          <p>
            This key was reported as compromised. It verifies nowhere, and nobody can claim it
            again.
            {status !== 'revoked' && ' The agent needs a new key.'}
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
