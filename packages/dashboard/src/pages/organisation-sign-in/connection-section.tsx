import type { SsoConnection, SsoConnectionResult } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Icon } from '../../channels/icon.tsx'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { ROLE_NAMES } from '../../organisations/roles.ts'
import { ConnectionForm } from './connection-form.tsx'
import { connectionQuery, SSO_PATH } from './queries.ts'

type Checks = SsoConnectionResult['checks']

/** The identity provider of the organisation, where its members sign in. */
export function ConnectionSection() {
  const { data, error, isPending, refetch } = useQuery(connectionQuery)
  const [editing, setEditing] = useState(false)
  const [checks, setChecks] = useState<Checks>([])
  const connection = data?.connection ?? null

  return (
    <SheetSection
      title="Identity provider"
      lead="Members sign in with OpenID Connect at the identity provider of the organisation. Their groups there give them a role here, manager at most."
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the identity provider" />
          <Skeleton className="h-72" />
        </>
      )}
      {data && (connection === null || editing) && (
        <ConnectionForm
          connection={connection}
          onSaved={(result) => {
            setChecks(result)
            setEditing(false)
          }}
          onCancel={connection === null ? null : () => setEditing(false)}
        />
      )}
      {connection !== null && !editing && (
        <>
          <CheckResults checks={checks} />
          <Connection connection={connection} onEdit={() => setEditing(true)} />
        </>
      )}
    </SheetSection>
  )
}

/** What the checks of new settings found. */
function CheckResults({ checks }: { readonly checks: Checks }) {
  return (
    <div role="status" className="empty:hidden">
      {checks.length > 0 && (
        <ul
          aria-label="Checks"
          className="flex flex-col divide-y divide-line rounded-lg border border-line"
        >
          {checks.map(({ name, ok, detail }) => (
            <li key={name} className="flex gap-3 px-3 py-2.5">
              <Icon
                name={ok ? 'tick' : 'warning'}
                className={`mt-0.5 size-5 shrink-0 ${ok ? 'text-good' : 'text-warn'}`}
              />
              <div className="min-w-0">
                <p className={`wrap-anywhere font-medium ${ok ? 'text-good' : 'text-warn'}`}>
                  <span className="sr-only">{ok ? 'Passed: ' : 'Not passed: '}</span>
                  {name}
                </p>
                <p className="wrap-anywhere text-pretty text-sm">{detail}</p>
              </div>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface ConnectionProps {
  readonly connection: SsoConnection
  readonly onEdit: () => void
}

function Connection({ connection, onEdit }: ConnectionProps) {
  const { issuer, clientId, hasSecret, groupClaim, roleMap, subjectClaim } = connection
  const [ending, setEnding] = useState(false)
  const roles = Object.entries(roleMap)
  return (
    <>
      <CopyField
        label="Redirect URI, to register at the identity provider"
        value={connection.callbackUrl}
      />
      <CopyField label="Sign-in URL for members" value={connection.signInUrl} />
      <dl className="grid gap-x-8 gap-y-4 @xl:grid-cols-2">
        <Detail name="Issuer">{issuer}</Detail>
        <Detail name="Client ID">{clientId}</Detail>
        <Detail name="Client secret">{hasSecret ? 'Stored' : 'None: a public client'}</Detail>
        <Detail name="Subject claim">{subjectClaim}</Detail>
        <Detail name="Group claim">{groupClaim}</Detail>
        <Detail name="Changed">
          <DateTime at={connection.updatedAt} as="minute" />
        </Detail>
      </dl>
      <div className="flex flex-col gap-1.5">
        <h3 className="font-medium">Roles by group</h3>
        {roles.length === 0 && (
          <p className="text-pretty">
            No group has a role. Only members who have linked their account can sign in.
          </p>
        )}
        <ul className="flex flex-col divide-y divide-line">
          {roles.map(([group, role]) => (
            <li key={group} className="flex flex-wrap justify-between gap-x-6 py-1.5">
              <code className="wrap-anywhere min-w-0 font-mono text-sm">{group}</code>
              {ROLE_NAMES[role]}
            </li>
          ))}
        </ul>
      </div>
      <div className="flex flex-wrap gap-3">
        <Button onClick={onEdit}>Change settings</Button>
        <Button variant="warning" onClick={() => setEnding(true)}>
          Disconnect …
        </Button>
      </div>
      {ending && <DisconnectDialog issuer={issuer} onClose={() => setEnding(false)} />}
    </>
  )
}

function Detail({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-soft text-sm">{name}</dt>
      <dd className="wrap-anywhere mt-0.5">{children}</dd>
    </div>
  )
}

interface DisconnectDialogProps {
  readonly issuer: string
  readonly onClose: () => void
}

function DisconnectDialog({ issuer, onClose }: DisconnectDialogProps) {
  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()
  async function disconnect() {
    await withRecentSignIn(() => send('DELETE', SSO_PATH))
    await queries.invalidateQueries()
    toast('The identity provider is disconnected.')
  }
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title="Disconnect the identity provider?"
      action="Disconnect it"
      danger
      onConfirm={disconnect}
    >
      <p className="wrap-anywhere">{issuer}</p>
      <ul className="flex list-disc flex-col gap-1.5 pl-5 text-pretty">
        <li>Nobody can sign in there any more, and the sessions of those who did end.</li>
        <li>Memberships whose role the identity provider sets end, with their API keys.</li>
        <li>Members with an account of their own stay.</li>
      </ul>
    </ConfirmDialog>
  )
}
