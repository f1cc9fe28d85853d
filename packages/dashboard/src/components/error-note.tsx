import type { ReactNode } from 'react'
import { BrowserError, ReauthenticationCancelled } from '../api/browser-errors.ts'
import { ApiError } from '../api/client.ts'
import { Button } from './button.tsx'

interface ErrorNoteProps {
  /** Nothing is shown for null and for a cancelled re-authentication. */
  readonly error: unknown
  /** Set it if retrying may help. */
  readonly onRetry?: (() => void) | undefined
}

/** Shows an error message with the request id. */
export function ErrorNote({ error, onRetry }: ErrorNoteProps) {
  // The alert region must exist before its content, or screen readers do not announce it.
  return (
    <div role="alert" className="empty:hidden">
      {error !== null && error !== undefined && !(error instanceof ReauthenticationCancelled) && (
        <Note tone="bad">
          <p>{errorMessage(error)}</p>
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

/** For a support request to the operator. */
export function RequestId({ id }: { readonly id: string }) {
  return (
    <p className="mt-1 text-sm">
      Request <code className="font-mono">{id}</code>
    </p>
  )
}

/** @returns a message for the user */
export function errorMessage(error: unknown): string {
  if (error instanceof ApiError || error instanceof BrowserError) return error.message
  return 'Something went wrong on this page. Reload it and try again.'
}

const TONES = {
  plain: 'border-line bg-surface text-ink',
  good: 'border-good bg-good-wash text-ink',
  warn: 'border-warn bg-warn-wash text-ink',
  bad: 'border-bad bg-bad-wash text-ink',
} as const

/** A highlighted remark. */
export function Note({
  tone = 'plain',
  children,
}: {
  readonly tone?: keyof typeof TONES
  readonly children: ReactNode
}) {
  return <div className={`rounded-lg border border-l-4 px-4 py-3 ${TONES[tone]}`}>{children}</div>
}
