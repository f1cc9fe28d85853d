import { Day } from '@countersign/ui'
import { NoticeLinks, noticePage } from './notice.tsx'
import type { PageContext } from './page-context.ts'

/** The page of a username that an agent has given up. It does not say which agent that was. */
export function givenUpPage(
  context: PageContext,
  { name, givenUpOn }: { readonly name: string; readonly givenUpOn: string },
): string {
  return noticePage({
    context,
    title: `@${name} was given up`,
    description: `No agent has the username ${name}. It was given up.`,
    above: `@${name}`,
    heading: (
      <>
        This name was given up on <Day at={givenUpOn} />
      </>
    ),
    children: (
      <>
        <p className="mt-6 text-xl/8 text-pretty">
          No agent has it now. If somebody sent you this address as proof, it proves nothing.
        </p>
        <p className="mt-4 text-pretty">
          Ask the agent for its DID, which never changes, and check that. For 90 days, only the
          owner who gave the name up can use it again.
        </p>
        <NoticeLinks />
      </>
    ),
  })
}
