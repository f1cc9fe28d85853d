import type { Onboarding } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { Link, type LinkProps, useLocation } from '@tanstack/react-router'
import { onboardingQuery, useEditOnboarding } from '../agents/onboarding.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { useAction } from '../components/use-action.ts'

type Step = keyof typeof LABELS

const LABELS = {
  verified: 'Verify your identity',
  claimed: 'Claim an agent',
  named: 'Name the agent',
  channel: 'Add a channel',
  badge: 'Copy a badge',
} as const

const STEPS = Object.keys(LABELS) as readonly Step[]

/** The first steps of an owner on every page, until all are done or the owner hides them. */
export function OnboardingChecklist() {
  const state = useQuery(onboardingQuery).data
  const edit = useEditOnboarding()
  const hiding = useAction(() => edit({ hidden: true }))
  if (state === undefined || state.hidden) return null
  const done = STEPS.filter((step) => state[step]).length
  if (done === STEPS.length) return null
  const next = STEPS.find((step) => !state[step]) as Step

  return (
    <aside
      aria-label="First steps"
      className="mb-8 flex flex-col gap-3 rounded-2xl border border-line bg-surface px-4 py-3 sm:px-5 sm:py-4"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <p className="font-semibold">
          First steps{' '}
          <span className="font-normal text-soft text-sm">
            {done} of {STEPS.length} done
          </span>
        </p>
        <div className="flex flex-wrap items-center gap-2">
          <NextStep step={next} state={state} />
          <Button size="small" variant="quiet" pending={hiding.pending} onClick={hiding.run}>
            Hide
          </Button>
        </div>
      </div>
      <ol className="hidden flex-wrap gap-x-6 gap-y-2 text-sm sm:flex">
        {STEPS.map((step) => (
          <li
            key={step}
            aria-current={step === next ? 'step' : undefined}
            className={`flex items-center gap-2 ${step === next ? 'font-medium' : 'text-soft'}`}
          >
            <Mark done={state[step]} current={step === next} />
            {LABELS[step]}
            {state[step] && <span className="sr-only"> (done)</span>}
          </li>
        ))}
      </ol>
    </aside>
  )
}

/** Links to the page of the next step. On that page, it only names the step. */
function NextStep({ step, state }: { readonly step: Step; readonly state: Onboarding }) {
  const { to, params } = destination(step, state.agent)
  const { pathname } = useLocation()
  if (pathname.endsWith(to.replace('$did', state.agent ?? ''))) {
    return <p className="text-sm sm:hidden">Next: {LABELS[step]}</p>
  }
  return (
    <Link to={to} params={params as never} className={buttonClass('secondary', 'small')}>
      {LABELS[step]}
    </Link>
  )
}

interface Destination {
  readonly to: NonNullable<LinkProps['to']>
  readonly params?: LinkProps['params']
}

function destination(step: Step, did: string | null): Destination {
  if (step === 'verified') return { to: '/identity' }
  if (step === 'claimed' || did === null) return { to: '/claim' }
  const params = { did } as never
  if (step === 'named') return { to: '/agents/$did/profile', params }
  if (step === 'channel') return { to: '/agents/$did/channels/new', params }
  return { to: '/agents/$did/share', params }
}

function Mark({ done, current }: { readonly done: boolean; readonly current: boolean }) {
  const colours = done
    ? 'border-good bg-good-wash text-good'
    : current
      ? 'border-accent'
      : 'border-line-strong'
  return (
    <span
      aria-hidden="true"
      className={`grid size-5 shrink-0 place-items-center rounded-full border-2 font-bold text-xs leading-none ${colours}`}
    >
      {done && '✓'}
    </span>
  )
}
