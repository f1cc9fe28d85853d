import { useQuery } from '@tanstack/react-query'
import { Link, Outlet } from '@tanstack/react-router'
import { sessionQuery } from '../api/queries.ts'
import { RecentSignInProvider } from '../components/recent-sign-in.tsx'
import { Brand } from './brand.tsx'
import { ChannelNotes } from './channel-notes.tsx'
import { Frame } from './frame.tsx'
import { NotificationBell } from './notification-bell.tsx'
import { OnboardingChecklist } from './onboarding-checklist.tsx'
import { OwnerMenu } from './owner-menu.tsx'
import { PasskeyPrompt } from './passkey-prompt.tsx'
import { RenewalNote } from './renewal-note.tsx'
import { SuspensionNote } from './suspension-note.tsx'

const NAV_LINKS = [
  { to: '/agents', label: 'Agents' },
  { to: '/claim', label: 'Claim' },
  { to: '/identity', label: 'Identity' },
  { to: '/activity', label: 'Activity' },
  { to: '/account', label: 'Account' },
] as const

export function SignedInLayout() {
  return (
    <RecentSignInProvider>
      <Frame header={<Header />}>
        <SuspensionNote />
        <RenewalNote />
        <ChannelNotes />
        <PasskeyPrompt />
        <OnboardingChecklist />
        <Outlet />
      </Frame>
    </RecentSignInProvider>
  )
}

/** One row on wide screens. On phones, the navigation moves to a second row. */
function Header() {
  const session = useQuery(sessionQuery).data
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 md:gap-x-8 md:grid-cols-[auto_1fr_auto]">
      <Link
        to="/agents"
        className="inline-flex min-w-0 max-w-full justify-self-start rounded-md py-4"
      >
        <Brand name={session?.service.name} />
      </Link>
      <nav
        aria-label="Dashboard"
        className="col-span-2 row-start-2 -mx-1.5 flex justify-between self-end md:col-span-1 md:row-start-auto md:mx-0 md:justify-start md:gap-2 md:self-stretch"
      >
        {NAV_LINKS.map(({ to, label }) => (
          <Link
            key={to}
            to={to}
            className="-mb-px flex items-center border-transparent border-b-3 px-1.5 pt-1 pb-2 font-medium text-[0.9375rem] text-soft hover:text-ink data-[status=active]:border-accent data-[status=active]:text-ink md:px-2.5 md:pt-3 md:pb-2 md:text-base"
          >
            {label}
          </Link>
        ))}
      </nav>
      {session?.owner && (
        <div className="flex min-w-0 items-center gap-1">
          <NotificationBell />
          <OwnerMenu owner={session.owner} />
        </div>
      )}
    </div>
  )
}
