import type { Failure } from '../../http/error-handler.ts'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
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
            Check an agent
          </a>
          <a href="/" className={LINK}>
            Start page
          </a>
        </p>
        <p className="mt-12 text-sm text-soft">
          Request ID <code className="font-mono">{failure.requestId}</code>
        </p>
      </div>
    </Shell>,
  )
}

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

function wordsFor({ code, certificate }: Failure): { title: string; advice: string } {
  if (code === 'NOT_FOUND' && certificate) {
    return {
      title: 'No certificate at this address',
      advice:
        'If somebody sent you this address as proof, it proves nothing. Check the address for typing errors, or ask for the DID of the agent.',
    }
  }
  switch (code) {
    case 'NOT_FOUND':
      return {
        title: 'Page not found',
        advice: 'Check the address for typing errors. The page may have been removed.',
      }
    case 'UNAVAILABLE':
      return {
        title: 'Service unavailable',
        advice:
          'The certificate status is unknown at the moment. Do not assume that a certificate is valid or missing. Try again in a minute.',
      }
    case 'INTERNAL_ERROR':
      return {
        title: 'Internal error',
        advice:
          'Try again. If the error persists, send the operator of this service the request ID below.',
      }
    case 'VALIDATION_ERROR':
      return certificate
        ? {
            title: 'Not an agent',
            advice: 'The address of a certificate ends in a username, a DID, or a public key.',
          }
        : { title: 'Invalid address', advice: 'Check the address. It may be incomplete.' }
    default:
      return { title: 'Request refused', advice: 'Go back and try again.' }
  }
}
