import type { Failure } from '../../http/error-handler.ts'
import { NoticeLinks, noticePage } from './notice.tsx'
import type { PageContext } from './page-context.ts'

/** The error page for people, instead of the error envelope. */
export function failurePage(context: PageContext, failure: Failure): string {
  const { title, advice } = wordsFor(failure)
  return noticePage({
    context,
    title,
    description: failure.message,
    above: failure.status,
    heading: title,
    children: (
      <>
        <p className="mt-6 text-xl/8 text-pretty wrap-anywhere">{failure.message}</p>
        <p className="mt-4 text-pretty">{advice}</p>
        <NoticeLinks />
        <p className="mt-12 text-sm text-soft">
          Request ID <code className="font-mono">{failure.requestId}</code>
        </p>
      </>
    ),
  })
}

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
