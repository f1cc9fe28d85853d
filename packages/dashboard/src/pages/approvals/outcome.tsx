import type { OwnerApproval } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { byOwner } from '../../api/acting-for.ts'
import { DateTime } from '../../components/date-time.tsx'
import { Note } from '../../components/error-note.tsx'
import { useCountdown } from '../../components/use-countdown.ts'

/** What became of an approval, and what happens next. */
export function Outcome({ approval }: { readonly approval: OwnerApproval }) {
  const { agent, state } = approval
  return (
    <Note tone={state === 'approved' ? 'good' : 'plain'}>
      <div className="flex flex-col gap-2 text-pretty">
        <OutcomeText approval={approval} />
        <p>
          <Link to="/agents/$did" params={{ did: agent }} className="text-accent underline">
            Open the agent
          </Link>
        </p>
      </div>
    </Note>
  )
}

function OutcomeText({ approval }: { readonly approval: OwnerApproval }): ReactNode {
  const { state, by, decidedAt, decidedBy, tokenExpiresAt, expiresAt } = approval
  const decided = (
    <>
      by {by === 'mandate' ? 'a standing mandate' : (decidedBy ?? byOwner)} on{' '}
      <DateTime at={decidedAt ?? expiresAt} as="minute" />
    </>
  )
  if (state === 'approved') {
    return (
      <>
        <p>Approved {decided}.</p>
        <UntilWhen until={tokenExpiresAt ?? expiresAt} />
      </>
    )
  }
  if (state === 'denied') {
    return (
      <>
        <p>Denied {decided}. The site does not admit the request.</p>
        <p>
          The agent learns of it within seconds. After two denials in a row, it cannot ask for an
          hour.
        </p>
      </>
    )
  }
  if (state === 'expired') {
    return (
      <p>
        Nobody decided before <DateTime at={expiresAt} as="minute" />. Nothing was approved. The
        agent can ask again.
      </p>
    )
  }
  return (
    <>
      <p>
        {decidedAt === null ? (
          'Nothing was approved.'
        ) : (
          <>Approved {decided}, and then cancelled.</>
        )}
      </p>
      <p>The agent is not active, has another key or another owner, or may no longer ask.</p>
    </>
  )
}

/** How long the agent can use an approval. */
function UntilWhen({ until }: { readonly until: string }) {
  const isOver = useCountdown(Date.parse(until)) === 0
  if (isOver) {
    return (
      <p>
        It ended on <DateTime at={until} as="minute" />. If the agent did not use it, it must ask
        again.
      </p>
    )
  }
  return (
    <p>
      Next, the agent sends this request. It can do so once, until{' '}
      <DateTime at={until} as="minute" />. To stop it before then, suspend the agent.
    </p>
  )
}
