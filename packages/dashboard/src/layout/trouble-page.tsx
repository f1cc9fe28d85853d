import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { ApiError } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { inWords, RequestId } from '../parts/error-note.tsx'
import { Page } from '../parts/page.tsx'
import { Brand } from './brand.tsx'
import { Frame } from './frame.tsx'

/** Instead of a page that could not be shown: an error of ours, or a service that does not answer. */
export function TroublePage({ error, reset }: ErrorComponentProps) {
  const router = useRouter()

  /** After a new release, the files of the old one are gone: only a new load brings the page. */
  function again() {
    if (!(error instanceof ApiError)) return location.reload()
    reset()
    void router.invalidate()
  }

  return (
    <Page title="This page cannot be shown" lead={inWords(error)} width="narrow">
      <div role="alert" className="flex flex-col items-start gap-4">
        {error instanceof ApiError && error.requestId !== null && (
          <RequestId id={error.requestId} />
        )}
        <p className="text-soft">Nothing of yours has changed because of this.</p>
        <Button variant="primary" onClick={again}>
          Try again
        </Button>
      </div>
    </Page>
  )
}

/** Where not even the frame could be shown: the service does not say who is signed in. */
export function TroubleAtStart(props: ErrorComponentProps) {
  return (
    <Frame
      header={
        <div className="py-4">
          <Brand name="Dashboard" />
        </div>
      }
    >
      <TroublePage {...props} />
    </Frame>
  )
}
