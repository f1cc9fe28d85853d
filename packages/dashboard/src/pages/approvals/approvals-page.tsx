import { type OwnerApprovals, visibleText } from '@countersign/protocol'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { approvalsQuery } from '../../approvals/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { FilterLinks } from '../../components/filter-links.tsx'
import { NextPageButton } from '../../components/next-page-button.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { siteOf } from './shown-request.ts'
import { STATE_NAMES } from './texts.ts'

const route = getRouteApi('/signed-in/approvals')

/** Lists what agents have asked the owner to approve, newest first. */
export function ApprovalsPage() {
  const state = route.useSearch().state === 'pending' ? 'pending' : null
  const list = useInfiniteQuery({ ...approvalsQuery(state), placeholderData: keepPreviousData })
  const { data, error, isPending } = list
  const approvals = data?.pages.flatMap((page) => page.approvals) ?? []
  const pending = data?.pages[0]?.pending
  return (
    <Page
      title="Approvals"
      lead={
        <>
          Before they do what cannot be undone, agents can ask you to approve the exact request.{' '}
          <a href="/docs/approvals" className="underline">
            How it works
          </a>
        </>
      }
      actions={
        <Link to="/approvals/mandates" className={buttonClass()}>
          Standing mandates
        </Link>
      }
    >
      <FilterLinks
        label="State"
        to="/approvals"
        options={[
          { label: 'All', search: {} },
          {
            label: STATE_NAMES.pending,
            search: { state: 'pending' },
            ...(pending !== undefined && { count: pending }),
          },
        ]}
      />
      <ErrorNote error={error} onRetry={() => void list.refetch()} />
      {isPending && (
        <>
          <Loading what="your approvals" />
          <Skeleton className="h-40 rounded-2xl" />
        </>
      )}
      {data !== undefined && approvals.length === 0 && <Nothing isFiltered={state !== null} />}
      {approvals.length > 0 && (
        <ol className="flex flex-col gap-4" aria-busy={list.isPlaceholderData}>
          {approvals.map((each) => (
            <Item key={each.id} approval={each} />
          ))}
        </ol>
      )}
      <NextPageButton list={list}>Show older approvals</NextPageButton>
    </Page>
  )
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  return (
    <div className="flex flex-col gap-2 rounded-2xl border border-line-strong border-dashed p-6 sm:p-10">
      <p className="font-medium">{isFiltered ? 'No pending approvals' : 'No approvals yet'}</p>
      {!isFiltered && (
        <p className="max-w-2xl text-pretty text-soft">
          An agent can ask only if you allow it.{' '}
          <Link to="/agents" className="text-accent underline">
            Open the agent
          </Link>{' '}
          and turn on approvals.
        </p>
      )}
    </div>
  )
}

const TONES = {
  pending: 'bg-warn-wash text-warn',
  approved: 'bg-good-wash text-good',
  denied: 'bg-bad-wash text-bad',
  expired: 'bg-sunken text-ink',
  cancelled: 'bg-sunken text-ink',
} as const

type Approval = OwnerApprovals['approvals'][number]

function Item({ approval }: { readonly approval: Approval }) {
  const { id, displayName, state, method, expiresAt, decidedAt, createdAt } = approval
  const url = new URL(approval.url)
  return (
    <li
      className={`relative rounded-xl border bg-surface p-4 hover:border-line-strong sm:p-5 ${state === 'pending' ? 'border-accent border-l-4' : 'border-line'}`}
    >
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <h2 className="min-w-0">
          {/* The whole item is the target of the link. */}
          <Link
            to="/approvals/$approval"
            params={{ approval: id }}
            className="wrap-anywhere font-semibold underline-offset-4 after:absolute after:inset-0 hover:underline"
          >
            {siteOf(url)}
          </Link>
        </h2>
        <span
          className={`whitespace-nowrap rounded-full px-2.5 py-0.5 font-medium text-sm ${TONES[state]}`}
        >
          {STATE_NAMES[state]}
        </span>
      </div>
      <p className="wrap-anywhere font-mono text-sm">
        {method} {url.pathname}
      </p>
      <p className="wrap-anywhere mt-1 text-soft text-sm">
        <bdi>{visibleText(displayName)}</bdi> ·{' '}
        {state === 'pending' ? (
          <>
            decide by <DateTime at={expiresAt} as="minute" />
          </>
        ) : (
          <DateTime at={decidedAt ?? createdAt} as="minute" />
        )}
      </p>
    </li>
  )
}
