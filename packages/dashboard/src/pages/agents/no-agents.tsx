import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useService } from '../../agents/use-service.ts'
import { identityQuery } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Skeleton } from '../../components/skeleton.tsx'

/** Introduces owners without agents to the three steps. */
export function NoAgents() {
  const identity = useQuery(identityQuery)
  const { name } = useService()
  const verified = identity.data?.verifications.some((each) => !each.expired)

  return (
    <div className="flex flex-col gap-8">
      <p className="max-w-2xl text-pretty text-lg text-soft">
        None yet. A certificate of {name} tells anyone who meets your agent that its key is its own,
        and that you, who have proved who you are, stand behind it. You can take it back at any
        moment.
      </p>
      <ErrorNote error={identity.error} onRetry={() => void identity.refetch()} />
      <ol className="grid gap-4 md:grid-cols-3">
        <Step number={1} title="Verify your identity" done={verified === true}>
          {verified
            ? 'You have proved who you are.'
            : 'Once, with a provider of your choice. Your documents stay with the provider.'}
        </Step>
        <Step number={2} title="Make a claim token">
          A secret that is good for one agent, once, for ten minutes.
        </Step>
        <Step number={3} title="The agent claims it">
          It signs the token with its own key, and has a certificate. You give it a name and a face.
        </Step>
      </ol>
      <div className="flex min-h-11 flex-wrap gap-3">
        {identity.isPending && <Skeleton className="h-11 w-52" />}
        {verified === true && (
          <Link to="/claim" className={buttonClass('primary')}>
            Make a claim token
          </Link>
        )}
        {verified === false && (
          <Link to="/identity" className={buttonClass('primary')}>
            Verify your identity
          </Link>
        )}
      </div>
    </div>
  )
}

interface StepProps {
  readonly number: number
  readonly title: string
  readonly done?: boolean
  readonly children: ReactNode
}

function Step({ number, title, done = false, children }: StepProps) {
  return (
    <li className="flex flex-col gap-3 rounded-2xl border border-line bg-surface p-5 sm:p-6">
      <span
        aria-hidden="true"
        className={`grid size-10 place-items-center rounded-full border-2 font-semibold ${done ? 'border-good bg-good-wash text-good' : 'border-accent text-accent'}`}
      >
        {done ? '✓' : number}
      </span>
      <h2 className="font-semibold text-lg tracking-tight">
        {title}
        {done && <span className="sr-only"> (done)</span>}
      </h2>
      <p className="text-pretty text-soft">{children}</p>
    </li>
  )
}
