import type { Failure } from '../../core/http/error-handler.ts'
import type { PageContext } from './context.ts'
import { htmlOf } from './html.tsx'
import { Shell } from './shell.tsx'

/** The error page for people, instead of the error envelope. */
export function failurePage(context: PageContext, failure: Failure): string {
  const { title, advice } = wordsFor(failure)
  return htmlOf(
    <Shell
      context={context}
      title={`${title} · ${context.serviceName}`}
      description={failure.message}
      path={null}
    >
      <div className="max-w-2xl py-10 sm:py-20">
        <p className="text-lg text-soft tabular-nums">{failure.status}</p>
        <h1 className="mt-2 text-4xl/11 font-bold tracking-tight text-balance sm:text-5xl/14">
          {title}
        </h1>
        <p className="mt-6 text-xl/8 text-pretty wrap-anywhere">{failure.message}</p>
        <p className="mt-4 text-pretty">{advice}</p>
        <p className="mt-8 flex flex-wrap gap-x-7 gap-y-2">
          <a href="/check" className={LINK}>
            Check a certificate
          </a>
          <a href="/" className={LINK}>
            Start page
          </a>
        </p>
        <p className="mt-12 text-sm text-soft">
          Request <code className="font-mono">{failure.requestId}</code>
        </p>
      </div>
    </Shell>,
  )
}

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

function wordsFor({ code, certificate }: Failure): { title: string; advice: string } {
  if (code === 'NOT_FOUND' && certificate) {
    return {
      title: 'No such certificate',
      advice:
        'Nobody vouches here for an agent of that name. If someone sent you this address as a proof, it proves nothing. Check it for mistakes, and otherwise do not rely on it.',
    }
  }
  switch (code) {
    case 'NOT_FOUND':
      return {
        title: 'There is nothing here',
        advice: 'The address may be mistyped, or what stood here may be gone.',
      }
    case 'UNAVAILABLE':
      return {
        title: 'The service is in trouble',
        advice:
          'Nothing can be said about any certificate right now: neither that it is good nor that there is none. Try again in a minute.',
      }
    case 'INTERNAL_ERROR':
      return {
        title: 'Something went wrong here',
        advice:
          'It is not your doing. Try again; if it stays like this, tell whoever runs this service the number of the request below.',
      }
    case 'VALIDATION_ERROR':
      return certificate
        ? {
            title: 'That names no agent',
            advice: 'The address of a certificate ends in a username, a DID, or a public key.',
          }
        : { title: 'That cannot be read', advice: 'The address may be mistyped or cut short.' }
    default:
      return { title: 'That cannot be done', advice: 'Go back, and try it another way.' }
  }
}
