import { Outlet, useRouterState } from '@tanstack/react-router'
import { useMay } from '../../api/use-may.ts'
import { Page } from '../../components/page.tsx'
import { TabContent, TabLinks } from '../../components/tab-links.tsx'

/** The parts of the page, and the least role that has each. Each has its own route in `router.tsx`. */
const TABS = [
  { to: '/members', label: 'Members', least: 'viewer' },
  { to: '/members/invitations', label: 'Invitations', least: 'admin' },
  { to: '/members/actions', label: 'Actions', least: 'viewer' },
] as const

/** The frame of the tabs about the people of an organisation. */
export function MembersPage() {
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname })
  const may = useMay()
  const tabs = TABS.filter(({ least }) => may(least))
  const label = tabs.find(({ to }) => pathname?.endsWith(to))?.label ?? TABS[0].label
  return (
    <Page
      title="Members"
      subtitle={label}
      place="/members"
      lead="The people who act for this organisation. Nobody outside sees them."
    >
      <TabLinks label="Members" tabs={tabs} />
      <TabContent tab={label}>
        <Outlet />
      </TabContent>
    </Page>
  )
}
