import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { keysQuery } from '../../agents/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { Note } from '../../components/error-note.tsx'

/** Says on the other tabs of an agent that a recovery of its key is pending. */
export function RecoveryNote({ did }: { readonly did: string }) {
  const recovery = useQuery(keysQuery(did)).data?.recovery ?? null
  if (recovery === null) return null
  return (
    <Note tone="warn">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="min-w-0 max-w-2xl text-pretty">
          A recovery of this agent’s key is pending.{' '}
          {recovery.effectiveAt === null ? (
            'The agent has not redeemed the recovery token.'
          ) : (
            <>
              A new key takes effect on <DateTime at={recovery.effectiveAt} as="minute" />.
            </>
          )}
        </p>
        <Link to="/agents/$did/keys" params={{ did }} className={buttonClass('secondary', 'small')}>
          Show the recovery
        </Link>
      </div>
    </Note>
  )
}
