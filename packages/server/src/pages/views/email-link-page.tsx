import type { ReactNode } from 'react'
import type { EmailLinkPageData } from '../email-link-data.ts'
import { SubmitButton } from './fields.tsx'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Shell } from './shell.tsx'

/** The page of a link in an e-mail: a form that acts, or what it has done. */
export function emailLinkPage(context: PageContext, data: EmailLinkPageData): string {
  const { title, body } = contentOf(context, data)
  return htmlOf(
    <Shell
      context={context}
      title={`${title} · ${context.serviceName}`}
      description={title}
      path={null}
    >
      <div className="max-w-2xl space-y-6 py-8 sm:py-16">
        <h1 className="text-3xl/10 font-bold tracking-tight text-balance sm:text-4xl/12">
          {title}
        </h1>
        {body}
      </div>
    </Shell>,
  )
}

interface Content {
  readonly title: string
  readonly body: ReactNode
}

function contentOf(context: PageContext, data: EmailLinkPageData): Content {
  switch (data.kind) {
    case 'verify':
      return {
        title: 'Verify your e-mail address',
        body: (
          <>
            <p className="text-lg/8 wrap-anywhere">
              Notifications of the account <strong>@{data.username}</strong> are then sent to{' '}
              <strong>{data.address}</strong>.
            </p>
            <p>
              If this is not your account, close this page. The address gets no notifications unless
              it is verified.
            </p>
            <ActionForm path="/email/verify" token={data.token} label="Verify the address" />
          </>
        ),
      }
    case 'verified':
      return {
        title: 'Your e-mail address is verified',
        body: (
          <>
            <p className="text-lg/8 wrap-anywhere">
              Notifications of the account <strong>@{data.username}</strong> are sent to{' '}
              <strong>{data.address}</strong> from now on.
            </p>
            <DashboardLink />
          </>
        ),
      }
    case 'unsubscribe':
      return {
        title: 'Stop these e-mails?',
        body: (
          <>
            <p className="text-lg/8">
              You get no further e-mails of this kind: <strong>{data.label}</strong>. The dashboard
              still shows these notifications.
            </p>
            <ActionForm path="/email/unsubscribe" token={data.token} label="Stop these e-mails" />
          </>
        ),
      }
    case 'unsubscribed':
      return {
        title: 'You are unsubscribed',
        body: (
          <>
            <p className="text-lg/8">
              You get no further e-mails of this kind: <strong>{data.label}</strong>. You can change
              this in the dashboard under Account, Notifications.
            </p>
            <DashboardLink />
          </>
        ),
      }
    case 'invalid':
      return {
        title: 'This link is not valid',
        body: (
          <p className="text-lg/8">
            {data.link === 'verify'
              ? `It was used already, has expired, or was replaced by a newer one. Sign in to ${context.serviceName}, open Account, Notifications and send another link.`
              : 'It may be cut short. You can choose which e-mails you get in the dashboard under Account, Notifications.'}
          </p>
        ),
      }
  }
}

function ActionForm({
  path,
  token,
  label,
}: {
  readonly path: string
  readonly token: string
  readonly label: string
}) {
  return (
    <form method="post" action={`${path}?token=${encodeURIComponent(token)}`}>
      <SubmitButton>{label}</SubmitButton>
    </form>
  )
}

function DashboardLink() {
  return (
    <p>
      <a
        href="/dashboard/account/notifications"
        className="text-accent underline underline-offset-4 hover:text-accent-strong"
      >
        Open your account
      </a>
    </p>
  )
}
