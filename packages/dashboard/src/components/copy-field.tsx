import { useEffect, useState } from 'react'
import { Button } from './button.tsx'

interface CopyButtonProps {
  readonly value: string
  /** The accessible name, such as `Copy the DID`. */
  readonly label: string
}

/** Copies the value and shows that it did. */
export function CopyButton({ value, label }: CopyButtonProps) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')

  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), 2500)
    return () => clearTimeout(timer)
  }, [state])

  async function copy() {
    setState(await navigator.clipboard.writeText(value).then(() => 'copied' as const, failed))
  }

  return (
    <>
      <Button size="small" aria-label={label} onClick={copy} className="min-w-21 shrink-0">
        {state === 'copied' ? 'Copied' : 'Copy'}
      </Button>
      <span role="status" className="sr-only">
        {state === 'copied' && 'Copied.'}
        {state === 'failed' &&
          'The browser did not allow to copy. Mark the text and copy it by hand.'}
      </span>
    </>
  )
}

const failed = () => 'failed' as const

interface CopyFieldProps {
  /** Such as `DID` or `Claim token`. The button is named `Copy: <label>`. */
  readonly label: string
  readonly value: string
  /** Preserves line breaks. */
  readonly lines?: boolean
}

/** Shows a value completely, with a button that copies it. */
export function CopyField({ label, value, lines = false }: CopyFieldProps) {
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <div className="flex items-center justify-between gap-4">
        <span className="font-medium">{label}</span>
        <CopyButton value={value} label={`Copy: ${label}`} />
      </div>
      {/* Long values wrap, so that users see everything they copy. */}
      <code className={`${BOX} ${lines ? 'whitespace-pre-wrap' : ''}`}>{value}</code>
    </div>
  )
}

const BOX =
  'block rounded-lg border border-line bg-sunken px-3 py-2.5 font-mono text-sm leading-6 wrap-anywhere'
