import type { Account } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../../api/account.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Page } from '../../parts/page.tsx'
import { Sheet } from '../../parts/sheet.tsx'
import { Loading, Skeleton } from '../../parts/skeleton.tsx'
import { DeletionSection } from './deletion-section.tsx'
import { ExportSection } from './export-section.tsx'
import { LinkOutcome } from './link-outcome.tsx'
import { PasskeysSection } from './passkeys-section.tsx'
import { ProfileSection } from './profile-section.tsx'
import { ProvidersSection } from './providers-section.tsx'
import { RecoverySection } from './recovery-section.tsx'
import { SessionsSection } from './sessions-section.tsx'

export function AccountPage() {
  const { data, error, refetch } = useQuery(accountQuery)
  return (
    <Page title="Account" lead="Who you are here, how you get in, and what is kept of you.">
      {data !== undefined && <Loaded account={data} />}
      {data === undefined && error === null && <Placeholder />}
      <ErrorNote error={error} onRetry={refetch} />
    </Page>
  )
}

function Loaded({ account }: { readonly account: Account }) {
  return (
    <>
      <LinkOutcome account={account} />
      <Sheet>
        <ProfileSection account={account} />
        <PasskeysSection account={account} />
        <RecoverySection account={account} />
        <ProvidersSection account={account} />
        <SessionsSection account={account} />
        <ExportSection />
        <DeletionSection account={account} />
      </Sheet>
    </>
  )
}

function Placeholder() {
  return (
    <>
      <Loading what="your account" />
      <Skeleton className="h-[60rem]" />
    </>
  )
}
