import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { dashboardOf, organisation } from '../api/acting-for.ts'
import { ApiError } from '../api/client.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { errorMessage, RequestId } from '../components/error-note.tsx'
import { Page } from '../components/page.tsx'
import { Brand } from './brand.tsx'
import { Frame } from './frame.tsx'

/** Shown if a page fails to render or load. */
export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter()

  /** After an update of the service, old script files no longer exist, and only a reload helps. */
  function retry() {
    if (!(error instanceof ApiError)) return location.reload()
    reset()
    void router.invalidate()
  }

  return (
    <Page title="This page could not be loaded" lead={errorMessage(error)} width="narrow">
      <div role="alert" className="flex flex-col items-start gap-4">
        {error instanceof ApiError && error.requestId !== null && (
          <RequestId id={error.requestId} />
        )}
        <p className="text-soft">Your data has not changed.</p>
        <Button variant="primary" onClick={retry}>
          Try again
        </Button>
      </div>
    </Page>
  )
}

/** Shown if the session cannot be loaded, so that the frame has no data either. */
export function RootErrorPage(props: ErrorComponentProps) {
  return (
    <Frame
      header={
        <div className="py-4">
          <Brand name="Dashboard" />
        </div>
      }
    >
      {isNotActing(props.error) ? <NotActingPage error={props.error} /> : <ErrorPage {...props} />}
    </Frame>
  )
}

/** Whether the session was refused because the person may not act for the organisation that the URL names. */
export function isNotActing(error: unknown): boolean {
  return organisation !== null && error instanceof ApiError && [403, 404].includes(error.status)
}

/** Shown to those who are no member of the organisation that the URL names, or no more. */
function NotActingPage({ error }: { readonly error: unknown }) {
  return (
    <Page title={`You do not act for @${organisation}`} lead={errorMessage(error)} width="narrow">
      <p>Your role may have ended, or the organisation may have another username now.</p>
      <a href={dashboardOf(null)} className={`self-start ${buttonClass('primary')}`}>
        Continue with your own account
      </a>
    </Page>
  )
}
