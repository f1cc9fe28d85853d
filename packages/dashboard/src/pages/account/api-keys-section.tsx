import type { ApiKey, ApiKeyScope, CreatedApiKey } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { apiKeysQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { SheetSection } from '../../components/sheet.tsx'
import { Skeleton } from '../../components/skeleton.tsx'
import { CreateApiKeyDialog } from './create-api-key-dialog.tsx'
import { RevokeApiKeyDialog } from './revoke-api-key-dialog.tsx'

/** What each scope allows, for people. */
const SCOPE_TEXTS: Readonly<Record<ApiKeyScope, string>> = {
  'agents:read': 'Read agents, channels, and the account’s activity',
  'events:read': 'Read the events of agents and of the account, as a security tool does',
  'agents:write':
    'Change names, descriptions and pictures of agents, and how far they may delegate',
  'agents:status': 'Suspend and reactivate agents, and end their delegations',
  'agents:revoke': 'Revoke agents and report their keys as compromised, which cannot be undone',
  'claim_tokens:create': 'Create claim tokens',
  'channels:write': 'Add, check and remove channels',
  'webhooks:read': 'Read webhook endpoints and their delivery logs',
  'webhooks:write': 'Add, change, test and delete webhook endpoints',
  'grants:read': 'Read grant issuers and the authorization servers of agents',
  'grants:write': 'Create and delete grant issuers, assign them to agents',
  'enrolment:read': 'List enrolment rules',
}

/** Lists, creates and revokes the owner's API keys. A new key is shown once. */
export function ApiKeysSection() {
  const { data, error, refetch } = useQuery(apiKeysQuery)
  const queries = useQueryClient()
  const [creating, setCreating] = useState(false)
  const [created, setCreated] = useState<CreatedApiKey | null>(null)
  const refresh = () => queries.invalidateQueries(apiKeysQuery)

  if (created !== null) {
    return (
      <SheetSection title="Your new API key" lead="It is shown this once. Store it as a secret.">
        <CopyField label={`API key ${created.name}`} value={created.secret} />
        <Note tone="warn">
          Anyone who has this key can use it until <DateTime at={created.expiresAt} />. Do not
          commit it to a repository.
        </Note>
        <Button variant="primary" className="self-start" onClick={() => setCreated(null)}>
          I have stored it
        </Button>
      </SheetSection>
    )
  }

  return (
    <SheetSection
      title="API keys"
      lead={
        <>
          For programs that manage your agents. See the{' '}
          <a href="/docs/owners-api" className="underline">
            owners’ API
          </a>
          .
        </>
      }
    >
      {data === undefined && error === null && <Skeleton className="h-16" />}
      <ErrorNote error={error} onRetry={refetch} />
      {data?.apiKeys.length === 0 && <p>No API keys yet.</p>}
      {data !== undefined && data.apiKeys.length > 0 && (
        <ul className="flex flex-col divide-y divide-line">
          {data.apiKeys.map((each) => (
            <ApiKeyItem key={each.id} apiKey={each} onRevoked={refresh} />
          ))}
        </ul>
      )}
      {data !== undefined && (
        <Button size="small" className="self-start" onClick={() => setCreating(true)}>
          Create an API key
        </Button>
      )}
      {creating && (
        <CreateApiKeyDialog
          scopeTexts={SCOPE_TEXTS}
          onClose={() => setCreating(false)}
          onCreated={async (key) => {
            setCreated(key)
            await refresh()
          }}
        />
      )}
    </SheetSection>
  )
}

interface ApiKeyItemProps {
  readonly apiKey: ApiKey
  readonly onRevoked: () => Promise<unknown>
}

function ApiKeyItem({ apiKey, onRevoked }: ApiKeyItemProps) {
  const { name, scopes, lastFour, createdAt, expiresAt, lastUsedAt } = apiKey
  const heading = useId()
  const [revoking, setRevoking] = useState(false)
  const hasExpired = Date.parse(expiresAt) <= Date.now()

  return (
    <li
      aria-labelledby={heading}
      className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3 @2xl:flex-nowrap py-4 first:pt-0 last:pb-0"
    >
      <div className="min-w-0">
        <h3 id={heading} className="font-medium wrap-anywhere">
          {name} <span className="font-mono text-soft text-sm">…{lastFour}</span>
        </h3>
        <p className="text-sm">{scopes.map((scope) => SCOPE_TEXTS[scope]).join(' · ')}</p>
        <p className="text-soft text-sm">
          {hasExpired ? (
            <strong className="text-warn">
              Expired on <DateTime at={expiresAt} />.
            </strong>
          ) : (
            <>
              Expires on <DateTime at={expiresAt} />.
            </>
          )}{' '}
          Created on <DateTime at={createdAt} />.{' '}
          {lastUsedAt === null ? (
            'Never used.'
          ) : (
            <>
              Last used <DateTime at={lastUsedAt} as="ago" />.
            </>
          )}
        </p>
      </div>
      <Button size="small" aria-label={`Revoke ${name}`} onClick={() => setRevoking(true)}>
        Revoke
      </Button>
      {revoking && (
        <RevokeApiKeyDialog
          apiKey={apiKey}
          onClose={() => setRevoking(false)}
          onRevoked={onRevoked}
        />
      )}
    </li>
  )
}
