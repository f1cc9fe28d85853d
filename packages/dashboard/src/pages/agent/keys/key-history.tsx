import type { KeyChange } from '@countersign/protocol'
import { useId, useState } from 'react'
import { byOwner } from '../../../api/acting-for.ts'
import { useMay } from '../../../api/use-may.ts'
import { Button } from '../../../components/button.tsx'
import { CopyButton } from '../../../components/copy-field.tsx'
import { DateTime } from '../../../components/date-time.tsx'
import { Section } from '../../../components/page.tsx'
import type { Key } from './contestable.ts'
import { KeyStateMark } from './key-state-mark.tsx'
import { ReportKeyDialog } from './report-key-dialog.tsx'

/** How a key became the current one. */
export const CHANGE_TEXTS: Readonly<Record<KeyChange, string>> = {
  claim: 'Claim',
  rotation: 'Rotation by the agent',
  recovery: `Recovery by ${byOwner}`,
  contest: `Contest by ${byOwner}`,
}

/** All keys of an agent, newest first. */
export function KeyHistory({ keys }: { readonly keys: readonly Key[] }) {
  return (
    <Section
      title="Key history"
      lead="Public: anyone can see it. The DID stays the same with each key."
    >
      <ol reversed className="flex flex-col divide-y divide-line">
        {keys.toReversed().map((key) => (
          <KeyItem key={key.sequence} item={key} isCurrent={key === keys.at(-1)} />
        ))}
      </ol>
    </Section>
  )
}

function KeyItem({ item, isCurrent }: { readonly item: Key; readonly isCurrent: boolean }) {
  const may = useMay()
  const [open, setOpen] = useState(false)
  const { sequence, keyThumbprint, from, until, state, changedBy } = item
  const heading = useId()
  return (
    <li aria-labelledby={heading} className="flex flex-col gap-2 py-4 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <h3 id={heading} className="font-medium">
          Key {sequence}
        </h3>
        <KeyStateMark state={state} />
      </div>
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <code className="min-w-0 grow basis-48 font-mono text-sm wrap-anywhere">
          {keyThumbprint}
        </code>
        <CopyButton value={keyThumbprint} label={`Copy: thumbprint of key ${sequence}`} />
      </div>
      <p className="text-pretty text-soft text-sm">
        {CHANGE_TEXTS[changedBy]}. Current from <DateTime at={from} as="minute" />
        {until !== null && (
          <>
            {' '}
            to <DateTime at={until} as="minute" />
          </>
        )}
        .
      </p>
      {state !== 'compromised' && state !== 'lost' && may('responder') && (
        <Button
          variant="warning"
          size="small"
          className="self-start"
          aria-label={`Report as stolen …: key ${sequence}`}
          onClick={() => setOpen(true)}
        >
          Report as stolen …
        </Button>
      )}
      <ReportKeyDialog
        reported={item}
        isCurrent={isCurrent}
        open={open}
        onClose={() => setOpen(false)}
      />
    </li>
  )
}
