import type { Owner } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-field.tsx'
import { CheckField } from './field.tsx'
import { saveFile } from './save-file.ts'

interface RecoveryCodesProps {
  readonly owner: Owner
  readonly codes: readonly string[]
  /** The label of the button that continues. */
  readonly action: string
  readonly onDone: () => void
}

/** Shows the ten codes, which are displayed only once. Users must confirm that they saved them. */
export function RecoveryCodes({ owner, codes, action, onDone }: RecoveryCodesProps) {
  const [kept, setKept] = useState(false)
  const service = useQuery(sessionQuery).data?.service
  const text = asText(codes, owner, service?.name ?? '', service?.baseUrl ?? '')

  useEffect(() => {
    if (kept) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [kept])

  return (
    <div className="flex flex-col gap-5">
      <p className="hidden print:block">
        Recovery codes of @{owner.username} at {service?.baseUrl}. Each is good for one sign-in.
      </p>
      <ol
        aria-label="Recovery codes"
        className="grid grid-cols-1 gap-x-8 gap-y-2 rounded-xl border border-line bg-sunken p-5 font-mono text-lg tabular-nums min-[26rem]:grid-cols-2"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ol>
      <div className="flex flex-wrap gap-3 print:hidden">
        <CopyButton value={text} label="Copy the recovery codes" />
        <Button
          size="small"
          onClick={() => saveFile(`recovery-codes-${owner.username}.txt`, text, 'text/plain')}
        >
          Save as a file
        </Button>
        <Button size="small" onClick={() => print()}>
          Print
        </Button>
      </div>
      <div className="flex flex-col gap-3 print:hidden">
        <CheckField
          label="I have kept these codes where I find them again. They are not shown a second time."
          checked={kept}
          onChange={(event) => setKept(event.target.checked)}
        />
        <Button variant="primary" disabled={!kept} onClick={onDone} className="self-start">
          {action}
        </Button>
      </div>
    </div>
  )
}

function asText(codes: readonly string[], owner: Owner, service: string, baseUrl: string): string {
  return [
    `${service} recovery codes of @${owner.username}`,
    baseUrl,
    'Each is good for one sign-in, where no passkey is at hand.',
    '',
    ...codes,
    '',
  ].join('\n')
}
