import type { SessionState } from '@countersign/protocol'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { reasonText } from '../agents/reasons.ts'
import { accountTitle, organisation } from '../api/acting-for.ts'
import { passkeysUnavailableReason } from '../api/passkeys-available.ts'
import { accountQuery, sessionQuery } from '../api/queries.ts'
import { mayIn, useMay } from '../api/use-may.ts'
import { buttonClass } from '../components/button.tsx'
import { DateTime } from '../components/date-time.tsx'
import { Note } from '../components/error-note.tsx'
import { RecentSignInProvider } from '../components/recent-sign-in.tsx'
import { notificationsQuery } from '../pages/notifications/queries.ts'
import { ApprovalsBadge } from './approvals-badge.tsx'
import { Brand } from './brand.tsx'
import { ChannelNotes } from './channel-notes.tsx'
import { isNotActing } from './error-page.tsx'
import { Frame } from './frame.tsx'
import { OnboardingChecklist } from './onboarding-checklist.tsx'
import { OwnerMenu, SITE_LINKS } from './owner-menu.tsx'

const AGENTS = { to: '/agents', label: 'Agents' } as const
const CLAIM = { to: '/claim', label: 'Claim' } as const
const APPROVALS = { to: '/approvals', label: 'Approvals' } as const
const IDENTITY = { to: '/identity', label: 'Identity' } as const
const MEMBERS = { to: '/members', label: 'Members' } as const
const ACTIVITY = { to: '/activity', label: 'Activity' } as const
const ACCOUNT = { to: '/account', label: accountTitle } as const

/** The parts of the dashboard that an owner has and that the role of the member allows. */
function navLinks(session: SessionState) {
  return [
    AGENTS,
    ...(mayIn(session, 'manager') ? [CLAIM, APPROVALS] : []),
    IDENTITY,
    ...(organisation === null ? [] : [MEMBERS]),
    ACTIVITY,
    ACCOUNT,
  ]
}

export function SignedInLayout() {
  const { error } = useQuery(sessionQuery)
  const { pathname } = useLocation()
  // The membership has ended while the page was open.
  if (isNotActing(error)) throw error
  return (
    <RecentSignInProvider>
      <Frame header={<Header />}>
        <SuspensionNote />
        {/* No reminder stands above what a person is asked to approve. */}
        {!pathname.includes('/approvals/') && <Reminders />}
        <Outlet />
      </Frame>
    </RecentSignInProvider>
  )
}

function Reminders() {
  return (
    <>
      <RenewalNote />
      <ChannelNotes />
      {/* What concerns only the person is shown in their own account. */}
      {organisation === null && (
        <>
          <PasskeyPrompt />
          <OnboardingChecklist />
        </>
      )}
    </>
  )
}

/** The site above, the dashboard below. */
function Header() {
  const session = useQuery(sessionQuery).data
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-x-3">
        <Link to="/agents" className="inline-flex min-w-0 max-w-full rounded-md py-4">
          <Brand name={session?.service.name} />
        </Link>
        {session?.owner && (
          <div className="ml-auto flex min-w-0 flex-wrap items-center justify-end gap-1">
            <nav aria-label="Site" className="mr-3 flex flex-wrap gap-x-5 max-sm:hidden">
              {SITE_LINKS.map(({ href, label }) => (
                <a
                  key={href}
                  href={href}
                  className="py-1 underline-offset-4 hover:text-accent hover:underline"
                >
                  {label}
                </a>
              ))}
            </nav>
            <NotificationBell />
            <OwnerMenu owner={session.owner} session={session} />
          </div>
        )}
      </div>
      <nav
        aria-label="Dashboard"
        className="-mx-1.5 flex flex-wrap justify-between sm:-mx-2.5 sm:justify-start sm:gap-x-2"
      >
        {session &&
          navLinks(session).map(({ to, label }) => (
            <Link
              key={to}
              to={to}
              className="-mb-px flex items-center border-transparent border-b-3 px-1.5 pt-1 pb-2 font-medium text-[0.9375rem] text-soft hover:text-ink data-[status=active]:border-accent data-[status=active]:text-ink sm:px-2.5 sm:text-base"
            >
              <span className="relative">
                {label}
                {to === APPROVALS.to && <ApprovalsBadge />}
              </span>
            </Link>
          ))}
      </nav>
    </>
  )
}

const MAX_SHOWN = 99

/** The link to the notifications, with the number of unread ones. */
function NotificationBell() {
  const unread = useInfiniteQuery(notificationsQuery).data?.pages[0]?.unread ?? 0
  const count = unread > MAX_SHOWN ? `${MAX_SHOWN}+` : String(unread)
  return (
    <Link
      to="/notifications"
      aria-label={unread === 0 ? 'Notifications' : `Notifications, ${count} unread`}
      className="relative grid size-10 shrink-0 place-items-center rounded-lg text-soft hover:bg-sunken hover:text-ink data-[status=active]:text-ink"
    >
      <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true" fill="none">
        <path
          d="M6 10a6 6 0 1 1 12 0c0 5 2 6 2 7H4c0-1 2-2 2-7Zm4 10a2 2 0 0 0 4 0"
          stroke="currentColor"
          strokeWidth="1.7"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      {unread > 0 && (
        <span
          aria-hidden="true"
          className="absolute top-0 right-0 min-w-5 rounded-full bg-accent px-1 text-center font-semibold text-on-accent text-xs/5"
        >
          {count}
        </span>
      )}
    </Link>
  )
}

const METHODS = { 'recovery-code': 'a recovery code', link: 'a sign-in link' } as const

/** Asks owners who signed in with a recovery code or a link to add a passkey, until they have added one. */
function PasskeyPrompt() {
  const session = useQuery(sessionQuery).data
  const method = session?.signInMethod
  const isBackup = method === 'recovery-code' || method === 'link'
  const account = useQuery({ ...accountQuery, enabled: isBackup }).data
  const { pathname } = useLocation()
  if (!isBackup || !session?.signedInAt || account === undefined) return null
  if (passkeysUnavailableReason(session.service) !== null) return null
  const since = Date.parse(session.signedInAt)
  if (account.passkeys.some(({ createdAt }) => Date.parse(createdAt) >= since)) return null
  const { left } = account.recoveryCodes

  return (
    <aside aria-label="Your sign-in" className="mb-8">
      <Note tone="warn">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="max-w-2xl text-pretty">
            You signed in with {METHODS[method]}. Add a passkey to this device, so that you can sign
            in without {METHODS[method]} next time.
            {method === 'recovery-code' &&
              ` ${left === 1 ? '1 recovery code is' : `${left} recovery codes are`} left.`}
          </p>
          {!pathname.endsWith('/account/security') && (
            <Link to="/account/security" className={buttonClass('secondary', 'small')}>
              Add a passkey
            </Link>
          )}
        </div>
      </Note>
    </aside>
  )
}

/** Reminds owners to renew a verification, except on the page where they do so. */
function RenewalNote() {
  const renewal = useQuery(sessionQuery).data?.renewal
  const { pathname } = useLocation()
  const may = useMay()
  if (!renewal || pathname.endsWith('/identity')) return null
  const [whose, its] = organisation === null ? ['Your', 'your'] : ['The organisation’s', 'its']
  const { label, expiresAt, expired } = renewal
  return (
    <aside aria-label={`${whose} identity`} className="mb-8">
      <Note tone="warn">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="max-w-2xl text-pretty">
            {expired ? (
              <>
                {whose} verification by {label} expired on <DateTime at={expiresAt} />. Lookups of{' '}
                {its} agents no longer show it.
              </>
            ) : (
              <>
                {whose} verification by {label} expires on <DateTime at={expiresAt} />. Renew it
                before then to keep the grades of {its} agents.
              </>
            )}
          </p>
          {may('admin') && (
            <Link to="/identity" className={buttonClass('secondary', 'small')}>
              {expired ? 'Verify again' : 'Renew verification'}
            </Link>
          )}
        </div>
      </Note>
    </aside>
  )
}

/** Tells owners on every page that the operator suspended their account, and why. */
function SuspensionNote() {
  const session = useQuery(sessionQuery).data
  if (!session?.suspension) return null
  const { since, reason } = session.suspension
  return (
    <aside
      aria-label={organisation === null ? 'Your account' : 'The organisation'}
      className="mb-8"
    >
      <Note tone="bad">
        <p className="max-w-2xl text-pretty">
          The operator of {session.service.name} suspended{' '}
          {organisation === null ? 'your account' : 'this organisation'} on <DateTime at={since} />.
          {reason !== null && ` Reason: ${reasonText(reason)}.`}{' '}
          {organisation === null ? 'Your' : 'Its'} agents are suspended, and you cannot create claim
          tokens or change agents until the operator lifts the suspension. You can still revoke
          agents and export the data.
        </p>
      </Note>
    </aside>
  )
}
