import type { DevelopmentEmail } from '../email-link-data.ts'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Shell } from './shell.tsx'

/** The development outbox: e-mails that would be sent if there were an SMTP server. */
export function developmentMailPage(
  context: PageContext,
  emails: readonly DevelopmentEmail[],
): string {
  return htmlOf(
    <Shell
      context={context}
      title={`Development outbox · ${context.serviceName}`}
      description="E-mails of a deployment for development."
      path={null}
    >
      <h1 className="pt-4 text-3xl/10 font-bold tracking-tight sm:text-4xl/12">
        Development outbox
      </h1>
      <p className="mt-4 max-w-2xl">
        This deployment is for development and has no SMTP server. Its e-mails are shown here,
        newest first, instead of being sent.
      </p>
      {emails.length === 0 && <p className="mt-8 text-soft">No e-mails yet</p>}
      <ol className="mt-8 space-y-6">
        {emails.map(({ to, subject, text }, index) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: rendered once, on the server
            key={index}
            className="rounded-xl border border-line bg-surface p-5 sm:p-7"
          >
            <h2 className="text-xl/7 font-semibold wrap-anywhere">{subject}</h2>
            <p className="mt-1 text-sm text-soft wrap-anywhere">To {to}</p>
            <p className="mt-4 whitespace-pre-wrap wrap-anywhere">
              {text.split(URL_PATTERN).map((part, at) =>
                at % 2 === 0 ? (
                  part
                ) : (
                  <a
                    // biome-ignore lint/suspicious/noArrayIndexKey: rendered once, on the server
                    key={at}
                    href={part}
                    className="text-accent underline underline-offset-4 hover:text-accent-strong"
                  >
                    {part}
                  </a>
                ),
              )}
            </p>
          </li>
        ))}
      </ol>
    </Shell>,
  )
}

const URL_PATTERN = /(https?:\/\/\S+)/
