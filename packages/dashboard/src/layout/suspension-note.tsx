import { useQuery } from '@tanstack/react-query'
import { reasonText } from '../agents/reasons.ts'
import { sessionQuery } from '../api/queries.ts'
import { DateTime } from '../components/date-time.tsx'
import { Note } from '../components/error-note.tsx'

/** Tells owners on every page that the operator suspended their account, and why. */
export function SuspensionNote() {
  const session = useQuery(sessionQuery).data
  if (!session?.suspension) return null
  const { since, reason } = session.suspension
  return (
    <aside aria-label="Your account" className="mb-8">
      <Note tone="bad">
        <p className="max-w-2xl text-pretty">
          The operator of {session.service.name} suspended your account on <DateTime at={since} />.
          {reason !== null && ` Reason: ${reasonText(reason)}.`} Your agents are suspended, and you
          cannot create claim tokens or change agents until the operator lifts the suspension. You
          can still revoke agents and export your data.
        </p>
      </Note>
    </aside>
  )
}
