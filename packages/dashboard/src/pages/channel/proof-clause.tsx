import type { ChannelState, OwnerChannel, ProofMethodInWords } from '@countersign/protocol'
import { useEffect, useRef } from 'react'
import { CopyField } from '../../parts/copy-field.tsx'
import { Moment } from '../../parts/moment.tsx'
import { Clause } from '../../parts/sheet.tsx'
import { Tabs } from '../../parts/tabs.tsx'

interface ProofClauseProps {
  readonly proof: NonNullable<OwnerChannel['proof']>
  readonly state: ChannelState
  /** Whether the agent proves it, rather than something that its owner places. */
  readonly byAgent: boolean
  /** Whether it has come because someone asked for it: the focus goes here. */
  readonly takesFocus: boolean
}

/** What proves the channel, to be taken to where it belongs. */
export function ProofClause({ proof, state, byAgent, takesFocus }: ProofClauseProps) {
  const { methods, expiresAt } = proof
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (takesFocus) place.current?.focus()
  }, [takesFocus])

  return (
    <Clause
      title={byAgent ? 'What the agent does' : 'What to place'}
      lead={
        <>
          {methods.length > 1 && 'One of these ways is enough. '}
          {state === 'verified' && 'Until this is seen, the earlier proof goes on counting. '}
          Good until <Moment at={expiresAt} as="minute" />.
        </>
      }
    >
      <div ref={place} tabIndex={-1} className="outline-hidden">
        {methods.length === 1 && methods[0] ? (
          <Method method={methods[0]} />
        ) : (
          <Tabs
            label="Ways to prove it"
            ways={methods.map((method) => ({
              id: method.id,
              title: method.title,
              content: <Method method={method} />,
            }))}
          />
        )}
      </div>
    </Clause>
  )
}

function Method({ method: { step, fields } }: { readonly method: ProofMethodInWords }) {
  return (
    <div className="flex min-w-0 flex-col gap-5">
      <p className="text-pretty wrap-anywhere">{step}</p>
      {fields.map(({ label, value, multiline }) => (
        <CopyField key={label} label={label} value={value} lines={multiline} />
      ))}
    </div>
  )
}
