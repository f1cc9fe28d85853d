import { type EnrolmentRule, MAX_ENROLMENT_RULES } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { organisation } from '../../api/acting-for.ts'
import { useMay } from '../../api/use-may.ts'
import { buttonClass } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { rulesQuery } from './queries.ts'
import { RuleMark } from './rule-mark.tsx'
import { agentCount, refusalText, sourceOf, WHO_CAN_ENROL } from './rule-texts.ts'

export function BackToRules() {
  return (
    <Link to="/enrolment" className="w-fit text-accent underline">
      Enrolment
    </Link>
  )
}

/** Lists the enrolment rules. */
export function RulesPage() {
  const { data, error, isPending, refetch } = useQuery(rulesQuery)
  const may = useMay()
  const rules = data?.rules ?? []
  const isFull = rules.length >= MAX_ENROLMENT_RULES
  return (
    <Page
      title="Enrolment"
      lead={
        <>
          Pods, virtual machines and CI jobs get certificates by the tokens of their platform,
          without a stored secret.{' '}
          <a href="/docs/enrolment" className="underline">
            How it works
          </a>
        </>
      }
      actions={
        data !== undefined &&
        !isFull &&
        may('manager') && (
          <Link to="/enrolment/new" className={buttonClass('primary')}>
            Create a rule
          </Link>
        )
      }
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the rules" />
          <Skeleton className="h-40 rounded-2xl" />
        </>
      )}
      {data !== undefined && rules.length === 0 && <NoRules />}
      {isFull && may('manager') && (
        <p>
          {organisation === null ? 'You have' : 'The organisation has'} {MAX_ENROLMENT_RULES} rules.
          Delete one to create another.
        </p>
      )}
      {rules.length > 0 && (
        <>
          <ul className="flex flex-col gap-4">
            {rules.map((rule) => (
              <Item key={rule.id} rule={rule} />
            ))}
          </ul>
          <p className="max-w-2xl text-pretty text-soft">
            {WHO_CAN_ENROL}{' '}
            <Link to="/agents" search={{ enrolled: 'only' }} className="text-accent underline">
              Show the enrolled agents
            </Link>
          </p>
        </>
      )}
    </Page>
  )
}

function NoRules() {
  return (
    <div className="flex flex-col items-start gap-4 rounded-2xl border border-line-strong border-dashed p-6 sm:p-10">
      <h2 className="font-semibold text-xl tracking-tight">No rules yet</h2>
      <p className="max-w-2xl text-pretty text-soft">
        A rule says whose tokens you accept, and with which claims. A workload presents its token
        and proves possession of its key. It gets an agent of its own, which ends when its platform
        no longer vouches for it.
      </p>
      <p className="max-w-2xl text-pretty text-soft">{WHO_CAN_ENROL}</p>
    </div>
  )
}

function Item({ rule }: { readonly rule: EnrolmentRule }) {
  const { id, name, live, maxLive, lastEnrolledAt, lastRefusal, keysProblem } = rule
  return (
    <li className="flex flex-col gap-2 rounded-2xl border border-line bg-surface p-5 sm:p-6">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <h2 className="wrap-anywhere min-w-0 font-semibold text-xl tracking-tight">
          <Link
            to="/enrolment/$rule"
            params={{ rule: id }}
            className="text-accent underline underline-offset-4 hover:text-accent-strong"
          >
            {name}
          </Link>
        </h2>
        <RuleMark rule={rule} />
      </div>
      <p className="wrap-anywhere font-mono text-soft text-sm">{sourceOf(rule)}</p>
      <p>
        {live.toLocaleString('en')} of {agentCount(maxLive)}.{' '}
        {lastEnrolledAt === null ? (
          'No workload has enrolled yet.'
        ) : (
          <>
            Last enrolled <DateTime at={lastEnrolledAt} as="ago" />.
          </>
        )}
      </p>
      {lastRefusal !== null && (
        <p className="text-soft text-sm">
          Last refused <DateTime at={lastRefusal.at} as="ago" />: {refusalText(lastRefusal.check)}.
        </p>
      )}
      {keysProblem !== null && (
        <p className="wrap-anywhere text-sm text-warn">
          The keys of the issuer cannot be read. {keysProblem}
        </p>
      )}
    </li>
  )
}
