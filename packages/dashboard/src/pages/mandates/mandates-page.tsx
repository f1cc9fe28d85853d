import { type Mandates, visibleText } from '@countersign/protocol'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { send } from '../../api/client.ts'
import { APPROVALS_KEY, MANDATES_PATH, mandatesQuery } from '../../approvals/queries.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { NextPageButton } from '../../components/next-page-button.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { CODE } from '../approvals/request-details.tsx'
import { siteOf } from '../approvals/shown-request.ts'
import { labelOf } from './mandate-form.ts'
import { daysText, requestsText, requestText, ruleText } from './terms.ts'

/** Lists the standing mandates of the owner's agents, newest first, and ends them. */
export function MandatesPage() {
  const list = useInfiniteQuery(mandatesQuery)
  const { data, error, isPending } = list
  const mandates = data?.pages.flatMap((page) => page.mandates) ?? []
  return (
    <Page
      title="Standing mandates"
      above={
        <Link to="/approvals" className="w-fit text-accent underline">
          All approvals
        </Link>
      }
      lead={
        <>
          The service approves the requests that a mandate admits, without asking you.{' '}
          <a href="/docs/approvals#standing-mandates" className="underline">
            How it works
          </a>
        </>
      }
    >
      <ErrorNote error={error} onRetry={() => void list.refetch()} />
      {isPending && (
        <>
          <Loading what="your mandates" />
          <Skeleton className="h-40 rounded-2xl" />
        </>
      )}
      {data !== undefined && mandates.length === 0 && (
        <div className="flex flex-col gap-2 rounded-2xl border border-line-strong border-dashed p-6 sm:p-10">
          <p className="font-medium">No mandates yet</p>
          <p className="max-w-2xl text-pretty text-soft">
            Open a request that you have approved, and choose “Allow requests like this”.
          </p>
        </div>
      )}
      {mandates.length > 0 && (
        <ol className="flex flex-col gap-4">
          {mandates.map((each) => (
            <ListedMandate key={each.id} mandate={each} />
          ))}
        </ol>
      )}
      <NextPageButton list={list}>Show older mandates</NextPageButton>
    </Page>
  )
}

const STATES = {
  active: { name: 'Active', tone: 'bg-good-wash text-good' },
  expired: { name: 'Expired', tone: 'bg-sunken text-ink' },
  ended: { name: 'Ended', tone: 'bg-sunken text-ink' },
} as const

type ListedMandate = Mandates['mandates'][number]

function ListedMandate({ mandate }: { readonly mandate: ListedMandate }) {
  const { id, displayName, createdBy, state, from, limits, query, body, total, used, perDay } =
    mandate
  const heading = useId()
  const queries = useQueryClient()
  const [ending, setEnding] = useState(false)
  const site = limits.origins.map((origin) => siteOf(new URL(origin))).join(', ')
  return (
    <li
      aria-labelledby={heading}
      className="flex flex-col gap-3 rounded-xl border border-line bg-surface p-4 sm:p-5"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <h2 id={heading} className="wrap-anywhere min-w-0 font-semibold">
          {site}
        </h2>
        <span
          className={`whitespace-nowrap rounded-full px-2.5 py-0.5 font-medium text-sm ${STATES[state].tone}`}
        >
          {STATES[state].name}
        </span>
      </div>
      <div className="text-sm">
        <p className={CODE}>{requestText(limits, query)}</p>
        {body !== null && (
          <ul>
            {Object.entries(body).map(([pointer, rule]) => (
              <li key={pointer} className={CODE}>
                {labelOf(pointer)}: <bdi>{ruleText(rule)}</bdi>
              </li>
            ))}
          </ul>
        )}
      </div>
      <p className="wrap-anywhere text-pretty">
        {total !== null && (
          <>
            {labelOf(total.pointer)}: {used.amount} of {total.amount} used in {daysText(total.days)}
            .{' '}
          </>
        )}
        {used.lastDay} of {requestsText(perDay)} used in 24 hours.
      </p>
      <p className="wrap-anywhere text-soft text-sm">
        <bdi>{visibleText(displayName)}</bdi> · {createdBy !== null && `created by ${createdBy} · `}
        <EndOf mandate={mandate} /> ·{' '}
        <Link to="/approvals/$approval" params={{ approval: from }} className="underline">
          Approved request
        </Link>
      </p>
      {state === 'active' && (
        <Button
          size="small"
          variant="warning"
          className="self-start"
          aria-label={`End the mandate for ${site}`}
          onClick={() => setEnding(true)}
        >
          End
        </Button>
      )}
      <ConfirmDialog
        open={ending}
        onClose={() => setEnding(false)}
        title={`End the mandate for ${site}?`}
        action="End the mandate"
        danger
        onConfirm={async () => {
          await send('DELETE', `${MANDATES_PATH}/${encodeURIComponent(id)}`)
          await queries.invalidateQueries({ queryKey: APPROVALS_KEY })
        }}
        onDone={() => {
          setEnding(false)
          toast('The mandate is ended.')
        }}
      >
        <p>
          The agent asks you again for each request. What was approved stays valid for up to 2
          minutes. You cannot undo this.
        </p>
      </ConfirmDialog>
    </li>
  )
}

function EndOf({ mandate: { state, expiresAt, endedAt } }: { readonly mandate: ListedMandate }) {
  if (state === 'active') {
    return (
      <>
        until <DateTime at={expiresAt} as="minute" />
      </>
    )
  }
  if (state === 'expired') {
    return (
      <>
        expired on <DateTime at={expiresAt} as="minute" />
      </>
    )
  }
  if (endedAt === null) return 'ended by a change of the agent'
  return (
    <>
      ended on <DateTime at={endedAt} as="minute" />
    </>
  )
}
