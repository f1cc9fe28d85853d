import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ApiError } from '../../api/client.ts'
import { identityQuery } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Section } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { CreateToken } from './create-token.tsx'
import type { Creating } from './use-claim-tokens.ts'

interface StartProps {
  /** Whether the previous tokens have expired. */
  readonly expired?: boolean
  readonly creating: Creating
}

/** Shown without a valid token: a button to create one, or a link to identity verification. */
export function Start({ expired = false, creating }: StartProps) {
  const { data, error, isPending, refetch } = useQuery(identityQuery)
  const refused = creating.error instanceof ApiError && creating.error.code === 'IDENTITY_REQUIRED'

  if (isPending) {
    return (
      <>
        <Loading what="your verifications" />
        <Skeleton className="h-76 rounded-2xl" />
      </>
    )
  }
  if (refused || data?.verifications.every((each) => each.expired)) return <IdentityFirst />
  return (
    <div className="flex flex-col gap-8">
      <ErrorNote error={error} onRetry={() => void refetch()} />
      <CreateToken expired={expired} creating={creating} />
    </div>
  )
}

/** Owners need a verified identity before they can claim agents. */
function IdentityFirst() {
  return (
    <Section
      title="Verify your identity first"
      lead="A certificate names the verified owner of an agent. You have no valid identity verification."
    >
      <p className="max-w-2xl text-pretty">
        Verify your identity once with a provider of your choice. Then you can claim any number of
        agents.
      </p>
      <Link to="/identity" className={`self-start ${buttonClass('primary')}`}>
        Verify your identity
      </Link>
    </Section>
  )
}
