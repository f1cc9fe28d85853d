import type { ChannelTrouble, SessionState } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { useMay } from '../api/use-may.ts'
import { buttonClass } from '../components/button.tsx'
import { DateTime } from '../components/date-time.tsx'
import { Note } from '../components/error-note.tsx'

type ChannelNote = SessionState['channelNotes'][number]

/** Notes beyond this number are only counted. */
const MAX_NOTES = 3

const ACTIONS: Readonly<Record<ChannelTrouble, string>> = {
  stale: 'Verify again',
  failing: 'Restore proof',
  ending: 'Renew',
}

/** Lists channels that need attention, except on the pages of the agent concerned. */
export function ChannelNotes() {
  const session = useQuery(sessionQuery).data
  const { pathname } = useLocation()
  const may = useMay()
  const notes = session?.channelNotes.filter(({ tail }) => !pathname.includes(tail)) ?? []
  if (session === undefined || notes.length === 0) return null
  const tone = notes.some(({ trouble }) => trouble === 'stale') ? 'bad' : 'warn'
  const remaining = notes.length - MAX_NOTES

  return (
    <aside aria-label="Your agents’ channels" className="mb-8">
      <Note tone={tone}>
        <ul className="flex flex-col gap-3">
          {notes.slice(0, MAX_NOTES).map((note) => {
            const action = may('manager') ? ACTIONS[note.trouble] : 'Show channels'
            return (
              <li
                key={`${note.tail} ${note.label} ${note.handleOrDomain}`}
                className="flex flex-wrap items-center justify-between gap-3"
              >
                <p className="min-w-0 max-w-2xl text-pretty wrap-anywhere">
                  <NoteText note={note} />
                </p>
                <Link
                  to="/agents/$did/channels"
                  params={{ did: `${session.service.shortName}:agent:${note.tail}` }}
                  aria-label={`${action}: ${note.handleOrDomain}`}
                  className={buttonClass('secondary', 'small')}
                >
                  {action}
                </Link>
              </li>
            )
          })}
        </ul>
        {remaining > 0 && (
          <p className="mt-3">
            {remaining === 1
              ? '1 more channel needs attention.'
              : `${remaining} more channels need attention.`}
          </p>
        )}
      </Note>
    </aside>
  )
}

/** Shortens long handles but shows both ends, so that similar ones can be told apart. */
function shortened(handle: string): string {
  return handle.length <= 64 ? handle : `${handle.slice(0, 40)} … ${handle.slice(-20)}`
}

function NoteText({ note }: { readonly note: ChannelNote }): ReactNode {
  const { trouble, label, handleOrDomain, displayName, until } = note
  const agent = <strong className="font-semibold">{displayName}</strong>
  const channel = `${label} ${shortened(handleOrDomain)}`
  const end = until === null ? null : <DateTime at={until} />
  if (trouble === 'stale') {
    return (
      <>
        {agent}: {channel} is no longer verified. The proof is missing or has expired.
      </>
    )
  }
  if (trouble === 'failing') {
    return (
      <>
        {agent}: the proof of {channel} is missing. Restore it{' '}
        {end === null ? 'soon' : <>before {end}</>} to keep the channel verified.
      </>
    )
  }
  return (
    <>
      {agent}: {channel} expires on {end}. Renew it before then to keep the agent’s grade.
    </>
  )
}
