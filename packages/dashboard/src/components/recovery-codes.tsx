import type { Owner } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-field.tsx'
import { saveFile } from './save-file.ts'

interface RecoveryCodesProps {
  readonly owner: Owner
  readonly codes: readonly string[]
  /** The label of the button that continues, such as `I saved the codes`. */
  readonly action: string
  readonly onDone: () => void
}

/** Shows the ten codes, which are displayed only once. The button that continues confirms that they are saved. */
export function RecoveryCodes({ owner, codes, action, onDone }: RecoveryCodesProps) {
  const removeWarning = useRef(() => {})
  const service = useQuery(sessionQuery).data?.service
  const text = asText(codes, owner, service?.name ?? '', service?.baseUrl ?? '')

  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', warn)
    removeWarning.current = () => removeEventListener('beforeunload', warn)
    return removeWarning.current
  }, [])

  return (
    <div className="flex flex-col gap-5">
      <p className="hidden print:block">
        Recovery codes of @{owner.username} at {service?.baseUrl}. Each works once.
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
          Download
        </Button>
        <Button size="small" onClick={() => print()}>
          Print
        </Button>
      </div>
      <div className="flex flex-col gap-3 print:hidden">
        <p>The codes are not shown again.</p>
        <Button
          variant="primary"
          onClick={() => {
            removeWarning.current()
            onDone()
          }}
          className="self-start"
        >
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
    'Each works once. Use one to sign in without a passkey.',
    '',
    ...codes,
    '',
  ].join('\n')
}
