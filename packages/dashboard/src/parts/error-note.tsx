import type { ReactNode } from 'react'
import { ApiError } from '../api/client.ts'
import { Failure, NotConfirmed } from '../api/failure.ts'
import { Button } from './button.tsx'

interface ErrorNoteProps {
  /** Whatever was thrown; nothing is shown for null, or where the person changed their mind. */
  readonly error: unknown
  /** Where asking again may help. */
  readonly onRetry?: (() => void) | undefined
}

/** What went wrong, in words, with the number under which the service knows it. */
export function ErrorNote({ error, onRetry }: ErrorNoteProps) {
  // The region is there before the words are: only then are they read out.
  return (
    <div role="alert" className="empty:hidden">
      {error !== null && error !== undefined && !(error instanceof NotConfirmed) && (
        <Note tone="bad">
          <p>{inWords(error)}</p>
          {error instanceof ApiError && error.requestId !== null && (
            <RequestId id={error.requestId} />
          )}
          {onRetry && (
            <Button size="small" className="mt-3" onClick={onRetry}>
              Try again
            </Button>
          )}
        </Note>
      )}
    </div>
  )
}

/** For whoever runs the service, should it be asked. */
export function RequestId({ id }: { readonly id: string }) {
  return (
    <p className="mt-1 text-sm">
      Request <code className="font-mono">{id}</code>
    </p>
  )
}

/** @returns what to say of an error to a person */
export function inWords(error: unknown): string {
  if (error instanceof ApiError || error instanceof Failure) return error.message
  return 'Something went wrong on this page. Load it again, and try once more.'
}

const TONES = {
  plain: 'border-line bg-surface text-ink',
  good: 'border-good bg-good-wash text-ink',
  warn: 'border-warn bg-warn-wash text-ink',
  bad: 'border-bad bg-bad-wash text-ink',
} as const

/** A remark that stands out from its page. */
export function Note({
  tone = 'plain',
  children,
}: {
  readonly tone?: keyof typeof TONES
  readonly children: ReactNode
}) {
  return <div className={`rounded-lg border border-l-4 px-4 py-3 ${TONES[tone]}`}>{children}</div>
}
