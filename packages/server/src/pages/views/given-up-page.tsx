import { Day } from '@countersign/ui'
import { htmlOf } from './html.tsx'
import type { PageContext } from './page-context.ts'
import { Shell } from './shell.tsx'

const LINK = 'text-accent underline underline-offset-4 hover:text-accent-strong'

/** The page of a username that an agent has given up. It does not say which agent that was. */
export function givenUpPage(
  context: PageContext,
  { name, givenUpOn }: { readonly name: string; readonly givenUpOn: string },
): string {
  return htmlOf(
    <Shell
      context={context}
      title={`@${name} was given up · ${context.serviceName}`}
      description={`No agent has the username ${name}. It was given up.`}
      path={null}
    >
      <div className="max-w-2xl py-10 sm:py-20">
        <p className="text-lg text-soft wrap-anywhere">@{name}</p>
        <h1 className="mt-2 text-4xl/11 font-bold tracking-tight text-balance sm:text-5xl/14">
          This name was given up on <Day at={givenUpOn} />
        </h1>
        <p className="mt-6 text-xl/8 text-pretty">
          No agent has it now. If somebody sent you this address as proof, it proves nothing.
        </p>
        <p className="mt-4 text-pretty">
          Ask the agent for its DID, which never changes, and check that. For 90 days, only the
          owner who gave the name up can use it again.
        </p>
        <p className="mt-8 flex flex-wrap gap-x-7 gap-y-2">
          <a href="/check" className={LINK}>
            Check an agent
          </a>
          <a href="/" className={LINK}>
            Start page
          </a>
        </p>
      </div>
    </Shell>,
  )
}
