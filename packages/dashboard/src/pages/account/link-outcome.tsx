import type { Account } from '@countersign/protocol'
import { getRouteApi } from '@tanstack/react-router'
import { Note } from '../../parts/error-note.tsx'
import { FailedReturn } from '../../parts/failed-return.tsx'

const route = getRouteApi('/signed-in/account')

/** What came of a way to a provider and back. */
export function LinkOutcome({ account }: { readonly account: Account }) {
  const { linked, failed, message, request } = route.useSearch()
  if (failed !== undefined) {
    return <FailedReturn what="Nothing was linked." message={message} request={request} />
  }
  const provider = account.signInProviders.find(({ id }) => id === linked)
  if (!provider || provider.linkedAt === null) return null
  return (
    <div role="status">
      <Note tone="good">You can sign in with {provider.label} from now on.</Note>
    </div>
  )
}
