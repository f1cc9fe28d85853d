import { AgentCard, GradeMark } from '@countersign/ui'
import type { PageContext } from './context.ts'
import { AgentForm } from './fields.tsx'
import { htmlOf } from './html.tsx'
import { Shell } from './shell.tsx'
import { Audiences } from './start-audiences.tsx'

/** The start page. */
export function startPage(context: PageContext): string {
  const { serviceName } = context
  return htmlOf(
    <Shell
      context={context}
      title={`${serviceName}: know who is behind an agent`}
      description={`${serviceName} issues identity certificates to software agents: an owner proves who they are, an agent holds a key, and anyone can check both.`}
      path="/"
    >
      <div className="grid items-center gap-x-16 gap-y-12 pt-4 pb-16 sm:pt-10 sm:pb-24 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="min-w-0">
          <h1 className="text-5xl/13 font-bold tracking-tight text-balance sm:text-6xl/17">
            Know who is behind an agent
          </h1>
          <p className="mt-6 max-w-xl text-xl/8 text-pretty">
            {serviceName} issues certificates to software agents. An owner proves who they are,
            once, and stands behind their agents. Each agent holds a key of its own. Anyone can
            check both, and what is taken back shows as revoked within a second.
          </p>
          <div className="mt-9 max-w-xl">
            <AgentForm label="Have you met one? Check it" />
          </div>
        </div>
        <SampleCard context={context} />
      </div>
      <Audiences context={context} />
      <Grades />
    </Shell>,
  )
}

const GRADES = [
  { grade: 'A', points: 4, meaning: 'Strong on both' },
  { grade: 'B', points: 3, meaning: 'Strong on one, weak on the other' },
  { grade: 'C', points: 2, meaning: 'Strong on one alone, or weak on both' },
  { grade: 'D', points: 1, meaning: 'Weak on one alone' },
  { grade: 'E', points: 0, meaning: 'Nothing on either, or not active' },
] as const

function Grades() {
  return (
    <section aria-labelledby="grades" className="border-t border-line py-12 sm:py-16">
      <h2 id="grades" className="text-2xl/8 font-semibold tracking-tight">
        What the letter means
      </h2>
      <p className="mt-3 max-w-2xl text-pretty">
        Two questions, worth up to two points each: who stands behind the agent, and where it can be
        reached. A check of the owner’s identity, or a domain, is strong and worth two; an account
        elsewhere is weak and worth one. Every certificate shows its evidence, so that anyone can
        recompute its letter.
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

const PICTURE = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><path fill="#0b5d4b" d="M0 0h64v64H0z"/><path fill="none" stroke="#e3f1ec" stroke-width="3" d="M12 40c8-26 14-26 16-6s8 14 12-4 8-12 12 6"/></svg>',
)}`

/** A sample card of an agent that does not exist. */
function SampleCard({ context: { site } }: { readonly context: PageContext }) {
  return (
    <figure className="min-w-0">
      <AgentCard
        picture={PICTURE}
        card={{
          [site.naming.didField]: '',
          displayName: 'SampleCard',
          username: 'specimen',
          description: 'Compares prices, fills baskets, and pays up to 50 euros.',
          avatarUrl: PICTURE,
          status: 'active',
          claimedAt: '2026-01-01T00:00:00.000Z',
          owner: { displayName: 'Ada Lovelace', username: 'ada' },
          verification: {
            provider: 'specimen',
            label: 'National eID',
            verifiedAt: '2026-01-01T00:00:00.000Z',
          },
          channels: [{ kind: 'domain', handleOrDomain: 'specimen.example' }],
          grade: 'A',
          tier: 2,
          gradeIsFallback: false,
          certificateUrl: `${site.baseUrl}/agent/specimen`,
        }}
      />
      <figcaption className="mt-3 text-sm text-soft">
        A card as everyone sees it. This one is made up.
      </figcaption>
    </figure>
  )
}
