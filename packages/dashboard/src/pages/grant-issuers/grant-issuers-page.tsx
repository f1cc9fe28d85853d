import { type GrantIssuer, MAX_GRANT_ISSUERS } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/use-may.ts'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { CreateIssuerDialog } from './create-issuer-dialog.tsx'
import { GRANT_ISSUERS_PATH, grantIssuersQuery, refreshGrants } from './queries.ts'

/** Lists the owner's grant issuers, creates and deletes them. */
export function GrantIssuersPage() {
  const { data, error, isPending, refetch } = useQuery(grantIssuersQuery)
  const queries = useQueryClient()
  const may = useMay()
  const [creating, setCreating] = useState(false)
  const issuers = data?.issuers ?? []
  const isFull = issuers.length >= MAX_GRANT_ISSUERS

  return (
    <Page
      title="Grant issuers"
      lead={
        <>
          Your agents get access tokens from OAuth authorization servers that trust their grant
          issuer.{' '}
          <a href="/docs/oauth" className="underline">
            How it works
          </a>
        </>
      }
      actions={
        data !== undefined &&
        !isFull &&
        may('manager') && (
          <Button variant="primary" onClick={() => setCreating(true)}>
            Create a grant issuer
          </Button>
        )
      }
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="your grant issuers" />
          <Skeleton className="h-40 rounded-2xl" />
        </>
      )}
      {data !== undefined && issuers.length === 0 && (
        <p className="rounded-2xl border border-line-strong border-dashed p-6 sm:p-10">
          No grant issuers yet
        </p>
      )}
      {isFull && may('manager') && (
        <p>You have {MAX_GRANT_ISSUERS} grant issuers. Delete one to create another.</p>
      )}
      {issuers.length > 0 && (
        <ul className="flex flex-col gap-4">
          {issuers.map((issuer) => (
            <Item key={issuer.id} issuer={issuer} />
          ))}
        </ul>
      )}
      {creating && (
        <CreateIssuerDialog
          onClose={() => setCreating(false)}
          onCreated={async ({ name }) => {
            await refreshGrants(queries)
            setCreating(false)
            toast(`The grant issuer ${name} is created.`)
          }}
        />
      )}
    </Page>
  )
}

function Item({
  issuer: { id, issuer, name, createdAt, agents },
}: {
  readonly issuer: GrantIssuer
}) {
  const heading = useId()
  const queries = useQueryClient()
  const may = useMay()
  const [deleting, setDeleting] = useState(false)
  return (
    <li
      aria-labelledby={heading}
      className="flex flex-col gap-4 rounded-2xl border border-line bg-surface p-5 sm:p-6"
    >
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <h2 id={heading} className="wrap-anywhere font-semibold text-xl tracking-tight">
            {name}
          </h2>
          <p className="text-soft text-sm">
            {assignedText(agents)} Created on <DateTime at={createdAt} />.
          </p>
        </div>
        {may('admin') && (
          <Button
            size="small"
            variant="warning"
            aria-label={`Delete ${name}`}
            onClick={() => setDeleting(true)}
          >
            Delete
          </Button>
        )}
      </div>
      <CopyField label="Issuer URL" value={issuer} />
      {agents === 0 && may('manager') && (
        <p className="text-soft text-sm">
          To assign an agent, open the agent and select the tab OAuth.
        </p>
      )}
      <ConfirmDialog
        open={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete the grant issuer ${name}?`}
        action="Delete the grant issuer"
        danger
        onConfirm={async () => {
          await send('DELETE', `${GRANT_ISSUERS_PATH}/${encodeURIComponent(id)}`)
          await refreshGrants(queries)
        }}
        onDone={() => toast('The grant issuer is deleted.')}
      >
        <p>
          {lossText(agents)} Its key set becomes empty. Access tokens that servers have issued stay
          valid until they expire. You cannot undo this.
        </p>
      </ConfirmDialog>
    </li>
  )
}

function lossText(agents: number): string {
  if (agents === 0) return 'No agent uses it.'
  return agents === 1
    ? '1 agent uses it and gets no more grants.'
    : `${agents} agents use it and get no more grants.`
}

function assignedText(agents: number): string {
  if (agents === 0) return 'No agents assigned.'
  return agents === 1 ? '1 agent assigned.' : `${agents} agents assigned.`
}
