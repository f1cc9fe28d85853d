import type { EnrolmentRule } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { rulesQuery } from './queries.ts'
import { BackToRules } from './rules-page.tsx'

interface WithRuleProps {
  readonly id: string
  readonly children: (rule: EnrolmentRule) => ReactNode
}

/** Loads a rule, keeps it up to date, and handles loading and errors. */
export function WithRule({ id, children }: WithRuleProps) {
  const { data, error, isPending, refetch } = useQuery(rulesQuery)
  const rule = data?.rules.find((each) => each.id === id)
  if (rule !== undefined) return children(rule)
  const isMissing = data !== undefined
  return (
    <Page title={isMissing ? 'Rule not found' : 'Enrolment rule'} above={<BackToRules />}>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the rule" />
          <Skeleton className="h-96 rounded-2xl" />
        </>
      )}
      {isMissing && <p>It may have been deleted.</p>}
    </Page>
  )
}
