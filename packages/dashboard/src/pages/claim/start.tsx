import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ApiError } from '../../api/client.ts'
import { identityQuery } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { CreateToken } from './create-token.tsx'
import type { Making } from './use-claim-token.ts'

interface StartProps {
  /** Whether the previous token has expired. */
  readonly expired?: boolean
  readonly making: Making
}

/** Shown without a valid token: a button to create one, or a link to identity verification. */
export function Start({ expired = false, making }: StartProps) {
  const { data, error, isPending, refetch } = useQuery(identityQuery)
  const refused = making.error instanceof ApiError && making.error.code === 'IDENTITY_REQUIRED'

  if (isPending) {
    return (
      <>
        <Loading what="whether you can claim agents" />
        <Skeleton className="h-76 rounded-2xl" />
      </>
    )
  }
  if (refused || data?.verifications.every((each) => each.expired)) return <IdentityFirst />
  return (
    <div className="flex flex-col gap-8">
      <ErrorNote error={error} onRetry={() => void refetch()} />
      <CreateToken expired={expired} making={making} />
    </div>
  )
}

/** Owners need a verified identity before they can claim agents. */
function IdentityFirst() {
  return (
    <Section
      title="First, who are you?"
      lead="A certificate says who stands behind an agent, so that has to be known first. You have no verified identity at present: none was made, or the last one has expired."
    >
      <p className="max-w-2xl text-pretty">
        You prove it once, with a provider of your choice, and stand behind as many agents as you
        like from then on.
      </p>
      <Link to="/identity" className={`self-start ${buttonClass('primary')}`}>
        Verify your identity
      </Link>
    </Section>
  )
}
