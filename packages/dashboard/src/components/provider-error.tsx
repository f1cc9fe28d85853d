import { callbackFailureText } from '@countersign/protocol'
import { Note, RequestId } from './error-note.tsx'

interface ProviderErrorProps {
  /** Our own sentence about the outcome. */
  readonly what: string
  /** The label of the provider, if the URL names one that the service offers. */
  readonly provider: string | undefined
  /** The service's code for the failure, from the URL (`CALLBACK_FAILURES`). */
  readonly code: string | undefined
  readonly request: string | undefined
}

const REQUEST_ID = /^req_[\w-]{1,64}$/

/**
 * Explains why signing in or verifying at a provider failed. Anyone can write a link to this page, so no text of the URL is
 * shown except a request id.
 */
export function ProviderError({ what, provider, code, request }: ProviderErrorProps) {
  return (
    <div role="alert">
      <Note tone="bad">
        <p className="font-medium">{what}</p>
        <p>
          {provider !== undefined && `${provider}: `}
          {callbackFailureText(code ?? '')}
        </p>
        {request && REQUEST_ID.test(request) && <RequestId id={request} />}
      </Note>
    </div>
  )
}
