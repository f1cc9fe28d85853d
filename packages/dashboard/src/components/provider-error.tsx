import { type CallbackFailure, callbackFailureText } from '@countersign/protocol'
import { Note, RequestId } from './error-note.tsx'

interface ProviderErrorProps {
  /** Our own sentence about the outcome. */
  readonly what: string
  /** Our own sentence if the user cancelled, which is no error. */
  readonly cancelled: string
  /** The label of the provider, if the URL names one that the service offers. */
  readonly provider: string | undefined
  /** The service's code for the failure, from the URL (`CALLBACK_FAILURES`). */
  readonly code: string | undefined
  readonly request: string | undefined
}

const REQUEST_ID = /^req_[\w-]{1,64}$/
const CANCELLATIONS: readonly string[] = [
  'declined',
  'abandoned',
] satisfies readonly CallbackFailure[]

/**
 * Explains why signing in or verifying at a provider failed. Anyone can write a link to this page, so no text of the URL is
 * shown except a request id.
 */
export function ProviderError({ what, cancelled, provider, code, request }: ProviderErrorProps) {
  const at = provider !== undefined && `${provider}: `
  if (code !== undefined && CANCELLATIONS.includes(code)) {
    return (
      <div role="status">
        <Note>
          {at}
          {cancelled}
        </Note>
      </div>
    )
  }
  return (
    <div role="alert">
      <Note tone="bad">
        <p className="font-medium">{what}</p>
        <p>
          {at}
          {callbackFailureText(code ?? '')}
        </p>
        {request && REQUEST_ID.test(request) && <RequestId id={request} />}
      </Note>
    </div>
  )
}
