import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../../api/client.ts'
import { identityQuery } from '../../api/identity.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Loading, Skeleton } from '../../parts/skeleton.tsx'
import { IdentityFirst } from './identity-first.tsx'
import { MakeToken } from './make-token.tsx'
import type { Making } from './use-claim-token.ts'

interface StartProps {
  /** The token before has expired. */
  readonly expired?: boolean
  readonly making: Making
}

/** Where there is no token: the way to one, or to what it takes first. */
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
      <MakeToken expired={expired} making={making} />
    </div>
  )
}
