import { Note, RequestId } from './error-note.tsx'

interface FailedReturnProps {
  /** How things stand now, in a sentence of ours; the service says why. */
  readonly what: string
  /** The words of the service, out of the address. */
  readonly message: string | undefined
  readonly request: string | undefined
}

const REQUEST_ID = /^req_[\w-]{1,64}$/
const LONGEST = 300

/**
 * Why the way back from a provider ended in nothing. The words come out of the address, which anyone can write:
 * text only, short, and under a sentence of ours that says what they are about.
 */
export function FailedReturn({ what, message, request }: FailedReturnProps) {
  return (
    <div role="alert">
      <Note tone="bad">
        <p className="font-medium">{what}</p>
        {message && <p>{message.slice(0, LONGEST)}</p>}
        {request && REQUEST_ID.test(request) && <RequestId id={request} />}
      </Note>
    </div>
  )
}
