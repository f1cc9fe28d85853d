import { GradeMark } from '@countersign/ui'
import type { Certificate } from '../certificate.ts'
import { AgentForm } from './fields.tsx'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Shell } from './shell.tsx'
import { Audiences } from './start-audiences.tsx'
import { LiveSample } from './start-sample.tsx'

/** The start page. */
export function startPage(context: PageContext, sample: Certificate): string {
  const { serviceName } = context
  return htmlOf(
    <Shell
      context={context}
      title={`${serviceName}: know who is behind an agent`}
      description={`${serviceName} issues identity certificates to software agents: the owner is verified, the agent holds a key, and anyone can check both.`}
      path="/"
      script={context.assets.startScript}
      image={{ path: '/preview.png', alt: `${serviceName}: know who is behind an agent` }}
    >
      <div className="grid items-start gap-x-16 gap-y-12 pt-4 pb-12 sm:pt-10 sm:pb-16 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="min-w-0">
          <h1 className="text-5xl/13 font-bold tracking-tight text-balance sm:text-6xl/17">
            Know who is behind an agent
          </h1>
          <p className="mt-6 max-w-xl text-xl/8 text-pretty">
            {serviceName} issues certificates that tie a software agent to a verified owner and to a
            key, and anyone can check both.
          </p>
          <p className="mt-8 flex flex-wrap gap-3">
            {typeof context.visitor === 'string' ? (
              <a href="/dashboard" className={PRIMARY}>
                Open dashboard
              </a>
            ) : (
              <a href="/dashboard/sign-up" className={PRIMARY}>
                Create account
              </a>
            )}
            <a href="/check" className={SECONDARY}>
              Check an agent
            </a>
          </p>
          <div className="mt-10 max-w-xl">
            <AgentForm label="Look up an agent" />
          </div>
        </div>
        <LiveSample context={context} sample={sample} />
      </div>
      <Audiences context={context} />
      <Grades />
    </Shell>,
  )
}

const BUTTON = 'inline-flex min-h-12 items-center rounded-lg px-6 py-2 font-semibold'
const PRIMARY = `${BUTTON} bg-accent text-on-accent hover:bg-accent-strong`
const SECONDARY = `${BUTTON} border border-line-strong bg-surface text-ink hover:border-accent hover:text-accent`

const GRADES = [
  { grade: 'A', points: 4, meaning: 'Strong in both' },
  { grade: 'B', points: 3, meaning: 'Strong in one, weak in the other' },
  { grade: 'C', points: 2, meaning: 'Strong in one, or weak in both' },
  { grade: 'D', points: 1, meaning: 'Weak in one' },
  { grade: 'E', points: 0, meaning: 'No evidence, or not active' },
] as const

function Grades() {
  return (
    <section aria-labelledby="grades" className="border-t border-line py-10">
      <h2 id="grades" className="text-2xl/8 font-semibold tracking-tight">
        What the grade means
      </h2>
      <p className="mt-3 max-w-2xl text-pretty">
        How well the owner is verified, and where the agent can be reached: each gives 0 to 2
        points. An identity check or a domain is strong (2), an account elsewhere is weak (1). Every
        certificate shows its evidence.
      </p>
      <dl className="mt-8 grid gap-x-8 gap-y-6 sm:grid-cols-2 lg:grid-cols-5">
        {GRADES.map(({ grade, points, meaning }) => (
          <div key={grade} className="flex gap-4 lg:flex-col">
            <dt>
              <GradeMark grade={grade} size="medium" />
            </dt>
            <dd className="min-w-0">
              <span className="block font-medium">
                {points} {points === 1 ? 'point' : 'points'}
              </span>
              <span className="text-soft">{meaning}</span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
