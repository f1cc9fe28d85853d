import type { SessionState } from '@countersign/protocol'
import { dashboardOf, organisation } from '../api/acting-for.ts'
import { ROLE_NAMES } from '../organisations/roles.ts'

/** The style of an entry of the owner's menu. */
export const ITEM =
  'flex min-h-10 w-full cursor-pointer items-center gap-3 rounded-lg px-3 text-left text-ink no-underline hover:bg-sunken'

/**
 * Whom one can act for: the own account, and organisations with one's role. Each link loads its page, because the URL decides for whom
 * it acts. Those without an organisation see only how to create one.
 */
export function ActingForMenu({ session }: { readonly session: SessionState }) {
  const { organisations, person } = session
  const isLimited = person?.limited === true
  return (
    <>
      {organisations.length > 0 && !isLimited && (
        <section aria-labelledby="acting-for">
          <hr className="mx-3 my-1.5 border-line" />
          <h2 id="acting-for" className="px-3 pt-1.5 pb-1 text-soft text-sm">
            Acting for
          </h2>
          <ul>
            <Choice username={null} name={person?.displayName ?? ''} remark="Your own account" />
            {organisations.map(({ username, displayName, role }) => (
              <Choice
                key={username}
                username={username}
                name={displayName}
                remark={`@${username} · ${ROLE_NAMES[role]}`}
              />
            ))}
          </ul>
        </section>
      )}
      {session.invitations > 0 && (
        <a href={`${dashboardOf(null)}/invitations`} className={`${ITEM} justify-between`}>
          Invitations
          <span className="min-w-6 rounded-full bg-accent px-1.5 text-center font-semibold text-on-accent text-xs/6">
            {session.invitations}
          </span>
        </a>
      )}
      {!isLimited && (
        <a href={`${dashboardOf(null)}/organisations/new`} className={ITEM}>
          Create organisation
        </a>
      )}
    </>
  )
}

interface ChoiceProps {
  /** Null: the own account. */
  readonly username: string | null
  readonly name: string
  readonly remark: string
}

function Choice({ username, name, remark }: ChoiceProps) {
  const isCurrent = username === organisation
  return (
    <li>
      <a
        href={dashboardOf(username)}
        aria-current={isCurrent ? 'true' : undefined}
        className={`${ITEM} py-1.5 aria-[current=true]:bg-accent-wash`}
      >
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium">{name}</span>
          <span className="block truncate text-soft text-sm">{remark}</span>
        </span>
        {isCurrent && (
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" className="shrink-0">
            <path d="m3 8.5 3.2 3.2L13 5" fill="none" stroke="currentColor" strokeWidth="1.8" />
          </svg>
        )}
      </a>
    </li>
  )
}
