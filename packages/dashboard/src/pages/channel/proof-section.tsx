import type { ChannelState, OwnerChannel, ProofMethodInWords } from '@countersign/protocol'
import { useEffect, useRef } from 'react'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { Tabs } from '../../components/tabs.tsx'

interface ProofSectionProps {
  readonly proof: NonNullable<OwnerChannel['proof']>
  readonly state: ChannelState
  /** Whether the agent proves the channel by a request, instead of a text that the owner publishes. */
  readonly byAgent: boolean
  /** Whether to move the focus here, because the user asked for the instructions. */
  readonly takesFocus: boolean
}

/** Instructions for proving the channel. */
export function ProofSection({ proof, state, byAgent, takesFocus }: ProofSectionProps) {
  const { methods, expiresAt } = proof
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (takesFocus) container.current?.focus()
  }, [takesFocus])

  return (
    <SheetSection
      title={byAgent ? 'Run the command' : 'Publish the text'}
      lead={
        <>
          {methods.length > 1 && 'Use one of these methods. '}
          {state === 'verified' && 'Until the new proof is found, the earlier one still counts. '}
          Complete by <DateTime at={expiresAt} as="minute" />.
        </>
      }
    >
      <div ref={container} tabIndex={-1} className="outline-hidden">
        {methods.length === 1 && methods[0] ? (
          <Method method={methods[0]} />
        ) : (
          <Tabs
            label="Methods"
            tabs={methods.map((method) => ({
              id: method.id,
              title: method.title,
              content: <Method method={method} />,
            }))}
          />
        )}
      </div>
    </SheetSection>
  )
}

function Method({ method: { step, fields } }: { readonly method: ProofMethodInWords }) {
  return (
    <div className="flex min-w-0 flex-col gap-5">
      <p className="text-pretty wrap-break-word">{step}</p>
      {fields.map(({ label, value, multiline }) => (
        <CopyField key={label} label={label} value={value} lines={multiline} />
      ))}
    </div>
  )
}
