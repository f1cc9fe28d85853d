import { AgentCard } from '@countersign/ui'
import type { ReactNode } from 'react'
import type { Certificate } from '../certificate.ts'
import type { PageContext } from './page-context.ts'
import { pathOf } from './page-context.ts'

interface LiveSampleProps {
  readonly context: PageContext
  readonly sample: Certificate
}

/**
 * The card of the sample certificate. With JavaScript, a request of its agent is signed and checked on the page, and the card can be
 * revoked: start-browser.ts shows and hides the parts.
 */
export function LiveSample({ context: { site }, sample: { agent } }: LiveSampleProps) {
  const { naming, baseUrl } = site
  const picture = pathOf(agent.avatarUrl)
  return (
    <figure
      className="min-w-0"
      data-sample
      data-short-name={naming.shortName}
      data-id-header={naming.idHeader}
      data-issuer={baseUrl}
    >
      <div data-status="active">
        <AgentCard card={agent} picture={picture} />
      </div>
      <div data-status="revoked" hidden>
        <AgentCard card={{ ...agent, status: 'revoked', grade: 'E' }} picture={picture} />
      </div>
      <div className="noscript:hidden">
        <p className="mt-4 flex flex-wrap gap-3">
          <Action name="send">Send a signed request</Action>
          <span data-status="active">
            <Action name="revoke">Revoke</Action>
          </span>
          <span data-status="revoked" hidden>
            <Action name="reset">Start over</Action>
          </span>
        </p>
        <div className="mt-4" aria-live="polite">
          <div data-part="answer" hidden>
            <p className="font-semibold">
              <span data-verdict="verified" className="text-good" hidden>
                Admitted: the agent holds its key, and its certificate is active.
              </span>
              <span data-verdict="invalid" className="text-bad" hidden>
                Refused: the agent holds its key, but its certificate is revoked.
              </span>{' '}
              <code className="font-mono text-sm" data-part="reason" />
            </p>
            <pre
              // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the focused element (WCAG 2.1.1)
              tabIndex={0}
              data-part="request"
              className="mt-3 max-h-44 overflow-auto rounded-lg border border-line bg-sunken p-3 font-mono text-xs/5 whitespace-pre-wrap wrap-anywhere"
            />
            <p className="mt-2 text-sm text-soft">
              Signed and checked in your browser (RFC 9421). Nothing was sent.
            </p>
          </div>
          <p data-part="unable" hidden>
            Your browser cannot sign with Ed25519 on this page.
          </p>
        </div>
      </div>
      <figcaption className="mt-3 text-soft">
        A card, as other sites show it. The agent does not exist.{' '}
        <a
          href="/sample"
          className="text-accent underline underline-offset-4 hover:text-accent-strong"
        >
          Open the sample certificate
        </a>
      </figcaption>
    </figure>
  )
}

function Action({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <button
      type="button"
      data-action={name}
      className="inline-flex min-h-11 cursor-pointer items-center rounded-lg border border-line-strong bg-surface px-4 py-1.5 font-semibold hover:border-accent hover:text-accent"
    >
      {children}
    </button>
  )
}
