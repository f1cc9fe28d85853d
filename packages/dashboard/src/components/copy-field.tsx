import { breakable } from '@countersign/ui'
import { useEffect, useState } from 'react'
import { Button } from './button.tsx'

interface CopyButtonProps {
  readonly value: string
  /** The accessible name, such as `Copy the DID`. */
  readonly label: string
  /** The visible text. Default: `Copy`. */
  readonly text?: string
  readonly onCopied?: (() => void) | undefined
}

/** Copies the value and shows that it did. */
export function CopyButton({ value, label, text = 'Copy', onCopied }: CopyButtonProps) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')

  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), 2500)
    return () => clearTimeout(timer)
  }, [state])

  async function copy() {
    const result = await navigator.clipboard.writeText(value).then(() => 'copied' as const, failed)
    setState(result)
    if (result === 'copied') onCopied?.()
  }

  return (
    <>
      <Button size="small" aria-label={label} onClick={copy} className="min-w-21 shrink-0">
        {state === 'copied' ? 'Copied' : text}
      </Button>
      <span role="status" className="sr-only">
        {state === 'copied' && 'Copied.'}
        {state === 'failed' &&
          'The browser did not allow copying. Select the text and copy it manually.'}
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
  readonly onCopied?: () => void
}

/** Shows a value completely, with a button that copies it. */
export function CopyField({ label, value, lines = false, onCopied }: CopyFieldProps) {
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1.5">
        <span className="font-medium">{label}</span>
        <CopyButton value={value} label={`Copy: ${label}`} onCopied={onCopied} />
      </div>
      {/* Long values wrap, so that users see everything they copy. */}
      <code className={`${BOX} ${lines ? 'whitespace-pre-wrap' : ''}`}>{breakable(value)}</code>
    </div>
  )
}

const BOX =
  'block rounded-lg border border-line bg-sunken px-3 py-2.5 font-mono text-[0.8125rem] leading-6 wrap-break-word sm:text-sm'
