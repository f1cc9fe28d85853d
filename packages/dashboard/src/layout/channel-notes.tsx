import type { ChannelTrouble, SessionState } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { sessionQuery } from '../api/session.ts'
import { buttonClass } from '../parts/button.tsx'
import { Note } from '../parts/error-note.tsx'
import { Moment } from '../parts/moment.tsx'

type ChannelNote = SessionState['channelNotes'][number]

/** So many are told one by one; of more, their number. */
const MOST = 3

const ACTIONS: Readonly<Record<ChannelTrouble, string>> = {
  stale: 'Prove it anew',
  failing: 'Look into it',
  ending: 'Renew it',
}

/** Said on every page but those of the agent that it is about: agents lose their grade when a channel ends. */
export function ChannelNotes() {
  const session = useQuery(sessionQuery).data
  const { pathname } = useLocation()
  const notes = session?.channelNotes.filter(({ tail }) => !pathname.includes(tail)) ?? []
  if (session === undefined || notes.length === 0) return null
  const worst = notes.some(({ trouble }) => trouble === 'stale') ? 'bad' : 'warn'
  const more = notes.length - MOST

  return (
    <aside aria-label="Your agents’ channels" className="mb-8">
      <Note tone={worst}>
        <ul className="flex flex-col gap-3">
          {notes.slice(0, MOST).map((note) => (
            <li
              key={`${note.tail} ${note.label} ${note.handleOrDomain}`}
              className="flex flex-wrap items-center justify-between gap-3"
            >
              <p className="min-w-0 max-w-2xl text-pretty wrap-anywhere">
                <InWords note={note} />
              </p>
              <Link
                to="/agents/$did"
                params={{ did: `${session.service.shortName}:agent:${note.tail}` }}
                hash="channels"
                aria-label={`${ACTIONS[note.trouble]}: ${note.handleOrDomain}`}
                className={buttonClass('secondary', 'small')}
              >
                {ACTIONS[note.trouble]}
              </Link>
            </li>
          ))}
        </ul>
        {more > 0 && (
          <p className="mt-3">
            {more === 1 ? 'One more channel needs you.' : `${more} more channels need you.`}
          </p>
        )}
      </Note>
    </aside>
  )
}

/** A note has no room for the longest of names: both of its ends tell it from others. */
function shortened(handle: string): string {
  return handle.length <= 64 ? handle : `${handle.slice(0, 40)} … ${handle.slice(-20)}`
}

function InWords({ note }: { readonly note: ChannelNote }): ReactNode {
  const { trouble, label, handleOrDomain, displayName, until } = note
  const channel = (
    <>
      {label} {shortened(handleOrDomain)} of{' '}
      <strong className="font-semibold">{displayName}</strong>
    </>
  )
  const end = until && <Moment at={until} />
  if (trouble === 'stale') {
    return <>{channel} counts no more: what proved it is gone, or its time is over.</>
  }
  if (trouble === 'failing') {
    return (
      <>
        What proved {channel} is missing. Put it back before {end ?? 'long'}, or it counts no more.
      </>
    )
  }
  return (
    <>
      {channel} counts until {end}. Prove it anew before then, so that the agent keeps its grade.
    </>
  )
}
