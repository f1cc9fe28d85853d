import { Note, RequestId } from './error-note.tsx'

interface ProviderErrorProps {
  /** Our own sentence about the outcome. */
  readonly what: string
  /** The service's message, from the URL. */
  readonly message: string | undefined
  readonly request: string | undefined
}

const REQUEST_ID = /^req_[\w-]{1,64}$/
const MAX_MESSAGE_LENGTH = 300

/**
 * Explains why signing in or verifying at a provider failed. Anyone can write the message into the URL, so it is
 * shown as text, truncated, below a sentence of ours.
 */
export function ProviderError({ what, message, request }: ProviderErrorProps) {
  return (
    <div role="alert">
      <Note tone="bad">
        <p className="font-medium">{what}</p>
        {message && <p>{message.slice(0, MAX_MESSAGE_LENGTH)}</p>}
        {request && REQUEST_ID.test(request) && <RequestId id={request} />}
      </Note>
    </div>
  )
}
