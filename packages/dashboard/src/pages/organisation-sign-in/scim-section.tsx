import { type CreatedScimToken, MAX_SCIM_TOKENS, type ScimTokens } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { connectionQuery, SCIM_TOKENS_PATH, scimTokensQuery } from './queries.ts'

/** The tokens with which the identity provider says who has left. A new one is shown once. */
export function ScimSection() {
  const { data, error, isPending, refetch } = useQuery(scimTokensQuery)
  const isConnected = useQuery(connectionQuery).data?.connection != null
  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()
  const [created, setCreated] = useState<CreatedScimToken | null>(null)
  const create = useAction(async () => {
    setCreated(await withRecentSignIn(() => send<CreatedScimToken>('POST', SCIM_TOKENS_PATH)))
    await queries.invalidateQueries(scimTokensQuery)
  })

  if (created !== null) {
    return (
      <SheetSection
        title="Your new SCIM token"
        lead="It is shown this once. Enter both at the identity provider."
      >
        <CopyField label="Tenant URL" value={created.url} />
        <CopyField label="SCIM token" value={created.secret} />
        <Note tone="warn">
          Anyone who has the token can end memberships of this organisation until{' '}
          <DateTime at={created.expiresAt} />.
        </Note>
        <Button variant="primary" className="self-start" onClick={() => setCreated(null)}>
          I have stored it
        </Button>
      </SheetSection>
    )
  }
  const tokens = data?.tokens ?? []
  return (
    <SheetSection
      title="Offboarding (SCIM)"
      lead="The identity provider deactivates a person who leaves, and their membership here ends at once. SCIM adds no members and gives no roles."
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the SCIM tokens" />
          <Skeleton className="h-16" />
        </>
      )}
      {data && tokens.length === 0 && <p>No SCIM tokens</p>}
      {tokens.length > 0 && (
        <ul className="flex flex-col divide-y divide-line">
          {tokens.map((token) => (
            <TokenItem key={token.id} token={token} />
          ))}
        </ul>
      )}
      {data && !isConnected && (
        <p className="text-pretty text-soft">
          Connect the identity provider before you create one.
        </p>
      )}
      {isConnected && tokens.length < MAX_SCIM_TOKENS && (
        <Button size="small" className="self-start" pending={create.pending} onClick={create.run}>
          Create a SCIM token
        </Button>
      )}
      <ErrorNote error={create.error} />
    </SheetSection>
  )
}

function TokenItem({ token }: { readonly token: ScimTokens['tokens'][number] }) {
  const { id, createdAt, expiresAt, lastUsedAt } = token
  const heading = useId()
  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()
  const [ending, setEnding] = useState(false)

  async function end() {
    await withRecentSignIn(() => send('DELETE', `${SCIM_TOKENS_PATH}/${encodeURIComponent(id)}`))
    await queries.invalidateQueries(scimTokensQuery)
    toast('The SCIM token no longer works.')
  }

  return (
    <li
      aria-labelledby={heading}
      className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 py-4 first:pt-0 last:pb-0"
    >
      <div className="min-w-0">
        <h3 id={heading} className="font-medium">
          Token of <DateTime at={createdAt} as="minute" />
        </h3>
        <p className="text-pretty text-soft text-sm">
          Expires on <DateTime at={expiresAt} />.{' '}
          {lastUsedAt === null ? (
            'Never used.'
          ) : (
            <>
              Last used <DateTime at={lastUsedAt} as="ago" />.
            </>
          )}
        </p>
      </div>
      <Button
        size="small"
        variant="warning"
        aria-label={`End …: token of ${createdAt}`}
        onClick={() => setEnding(true)}
      >
        End …
      </Button>
      <ConfirmDialog
        open={ending}
        onClose={() => setEnding(false)}
        title="End the SCIM token?"
        action="End the token"
        danger
        onConfirm={end}
      >
        <p>
          The identity provider can no longer say with it who has left. While no token lives,
          everybody with a group that has a role can sign in.
        </p>
      </ConfirmDialog>
    </li>
  )
}
