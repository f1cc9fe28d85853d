import { useQuery } from '@tanstack/react-query'
import { Outlet, useRouterState } from '@tanstack/react-router'
import { accountTitle } from '../../api/acting-for.ts'
import { accountQuery } from '../../api/queries.ts'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { TabContent, TabLinks } from '../../components/tab-links.tsx'
import { AccountContext, useAccountTabs } from './account-tabs.ts'

/** The frame of the account's tabs. */
export function AccountPage() {
  const { data, error, refetch } = useQuery(accountQuery)
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname })
  const tabs = useAccountTabs()
  const label = tabs.find(({ to }) => pathname?.endsWith(to))?.label ?? 'Profile'
  return (
    <Page title={accountTitle} subtitle={label} place="/account">
      <TabLinks label={accountTitle} tabs={tabs} />
      <TabContent tab={label}>
        {data !== undefined && (
          <AccountContext value={data}>
            <Outlet />
          </AccountContext>
        )}
        {data === undefined && error === null && (
          <>
            <Loading what="your account" />
            <Skeleton className="h-96" />
          </>
        )}
        <ErrorNote error={error} onRetry={refetch} />
      </TabContent>
    </Page>
  )
}
