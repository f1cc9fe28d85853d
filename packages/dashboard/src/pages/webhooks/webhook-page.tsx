import type { Webhook, WebhookDelivery, WebhookPatch } from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { CopyField } from '../../components/copy-field.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { ErrorNote, Note } from '../../components/error-note.tsx'
import { CheckField } from '../../components/field.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { useAction } from '../../components/use-action.ts'
import { DeliveryLog } from './delivery-log.tsx'
import { pathOf, refreshWebhooks, webhooksQuery } from './queries.ts'
import { FORMAT_LABELS, WebhookDialog } from './webhook-dialog.tsx'
import { WebhookMark } from './webhook-mark.tsx'
import { WebhookSecret, type WebhookWithSecret } from './webhook-secret.tsx'
import { waitingText } from './webhooks-page.tsx'

const route = getRouteApi('/signed-in/webhooks/$webhook')

/** One endpoint: its state and settings, and its delivery log. */
export function WebhookPage() {
  const { webhook: id } = route.useParams()
  const { data, error, isPending, refetch } = useQuery(webhooksQuery)
  const webhook = data?.webhooks.find((each) => each.id === id)
  if (webhook !== undefined && data !== undefined) {
    return <Loaded key={id} webhook={webhook} publicKey={data.publicKey} />
  }
  const isMissing = data !== undefined
  return (
    <Page title={isMissing ? 'Endpoint not found' : 'Endpoint'} above={<BackToWebhooks />}>
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="the endpoint" />
          <Skeleton className="h-96 rounded-2xl" />
        </>
      )}
      {isMissing && <p>You may have deleted it.</p>}
    </Page>
  )
}

function BackToWebhooks() {
  return (
    <Link to="/webhooks" className="w-fit text-accent underline">
      Webhooks
    </Link>
  )
}

interface LoadedProps {
  readonly webhook: Webhook
  readonly publicKey: string
}

function Loaded({ webhook, publicKey }: LoadedProps) {
  const { id, url, format, audience, hasAuthorization, eventTypes, state } = webhook
  const { createdAt, previousSecretUntil } = webhook
  const isSet = format === 'set'
  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()
  const navigate = useNavigate()
  const [editing, setEditing] = useState(false)
  const [rotating, setRotating] = useState(false)
  const [rotated, setRotated] = useState<WebhookWithSecret | null>(null)
  const [deleting, setDeleting] = useState(false)

  async function change(patch: WebhookPatch) {
    await withRecentSignIn(() => send('PATCH', pathOf(id), patch))
    await refreshWebhooks(queries)
  }
  const toggle = useAction(() => change({ state: state === 'active' ? 'paused' : 'active' }))
  const test = useAction(async () => {
    const { status, problem } = await send<WebhookDelivery>('POST', `${pathOf(id)}/test`)
    toast(problem ?? `The endpoint has accepted the test with ${status}.`)
    await refreshWebhooks(queries)
  })

  if (rotated !== null) {
    return (
      <WebhookSecret title="Your new secret" webhook={rotated} onDone={() => setRotated(null)} />
    )
  }
  return (
    <Page
      title={new URL(url).host}
      above={<BackToWebhooks />}
      actions={<WebhookMark {...webhook} />}
    >
      <StateNote webhook={webhook} />
      <Section
        title="Endpoint"
        actions={
          <div className="flex flex-wrap gap-3">
            <Button size="small" pending={test.pending} onClick={test.run}>
              Send a test
            </Button>
            <Button size="small" pending={toggle.pending} onClick={toggle.run}>
              {state === 'active' ? 'Pause' : 'Activate'}
            </Button>
            <Button size="small" onClick={() => setEditing(true)}>
              Edit
            </Button>
            {!isSet && (
              <Button size="small" onClick={() => setRotating(true)}>
                Rotate secret
              </Button>
            )}
            <Button size="small" variant="warning" onClick={() => setDeleting(true)}>
              Delete
            </Button>
          </div>
        }
      >
        <ErrorNote error={test.error ?? toggle.error} />
        <dl className="grid gap-x-8 gap-y-3 sm:grid-cols-[8rem_minmax(0,1fr)]">
          <dt className="text-soft">URL</dt>
          <dd className="wrap-anywhere font-mono text-sm sm:leading-6">{url}</dd>
          <dt className="text-soft">Format</dt>
          <dd>{FORMAT_LABELS[format]}</dd>
          {isSet && (
            <>
              <dt className="text-soft">Audience</dt>
              <dd className="wrap-anywhere">{audience ?? 'The URL'}</dd>
            </>
          )}
          {hasAuthorization && (
            <>
              <dt className="text-soft">Authorization</dt>
              <dd>Stored, not shown</dd>
            </>
          )}
          <dt className="text-soft">Events</dt>
          <dd className="wrap-anywhere">
            {eventTypes === null ? 'All types' : eventTypes.join(' · ')}
          </dd>
          <dt className="text-soft">ID</dt>
          <dd className="wrap-anywhere font-mono text-sm sm:leading-6">{id}</dd>
          <dt className="text-soft">Created</dt>
          <dd>
            <DateTime at={createdAt} />
          </dd>
          {previousSecretUntil !== null && (
            <>
              <dt className="text-soft">Previous secret</dt>
              <dd>
                Signs too until <DateTime at={previousSecretUntil} as="minute" />
              </dd>
            </>
          )}
        </dl>
        {isSet ? (
          <CopyField
            label="Keys of the tokens"
            value={`${location.origin}/.well-known/jwks.json`}
          />
        ) : (
          <CopyField label="Public key (v1a, Ed25519)" value={publicKey} />
        )}
      </Section>
      <DeliveryLog webhookId={id} />
      {editing && (
        <WebhookDialog
          title="Edit the endpoint"
          action="Save"
          current={webhook}
          onClose={() => setEditing(false)}
          onSubmit={async ({ url: chosen, format: _, ...rest }) => {
            await change(chosen === url ? rest : { url: chosen, ...rest })
            setEditing(false)
            toast('The endpoint is saved.')
          }}
        />
      )}
      {rotating && (
        <RotateSecretDialog
          webhookId={id}
          onClose={() => setRotating(false)}
          onRotated={(each) => {
            setRotated(each)
            void refreshWebhooks(queries)
          }}
        />
      )}
      <ConfirmDialog
        open={deleting}
        onClose={() => setDeleting(false)}
        title="Delete this endpoint?"
        action="Delete the endpoint"
        danger
        onConfirm={() => send('DELETE', pathOf(id))}
        onDone={() => {
          toast('The endpoint is deleted.')
          void navigate({ to: '/webhooks' }).then(() => refreshWebhooks(queries))
        }}
      >
        <p>
          Its delivery log and the deliveries that wait are deleted, and its secret is no longer
          used. You cannot undo this.
        </p>
      </ConfirmDialog>
    </Page>
  )
}

const DISABLED_TEXTS = {
  gone: 'The endpoint answered 410, which means that it wants no more deliveries.',
  failing: 'No delivery has succeeded for 5 days.',
  backlog: 'More than 100,000 deliveries were waiting.',
  key_revoked: 'You revoked the API key that created it or gave it its URL.',
} as const

/** What the state means for deliveries. */
function StateNote({ webhook }: { readonly webhook: Webhook }) {
  const { state, disabledReason, failingSince, nextAttemptAt, pending } = webhook
  const waiting = pending > 0 ? ` ${waitingText(pending)}.` : ''
  if (state === 'disabled') {
    return (
      <Note tone="bad">
        <p>
          {disabledReason !== null && DISABLED_TEXTS[disabledReason]} New events are not delivered.
          {waiting}{' '}
          {disabledReason === 'key_revoked'
            ? 'Delete the endpoint, or activate it if you know the URL.'
            : 'Fix the receiver, then activate the endpoint.'}
        </p>
      </Note>
    )
  }
  if (state === 'paused') {
    return (
      <Note>
        <p>Events wait until you activate the endpoint again.{waiting}</p>
      </Note>
    )
  }
  if (failingSince === null) return null
  return (
    <Note tone="warn">
      <p>
        Deliveries have failed since <DateTime at={failingSince} as="minute" />.{waiting}{' '}
        {nextAttemptAt !== null && (
          <>
            Next attempt: <DateTime at={nextAttemptAt} as="minute" />.
          </>
        )}
      </p>
    </Note>
  )
}

interface RotateSecretDialogProps {
  readonly webhookId: string
  readonly onClose: () => void
  readonly onRotated: (webhook: WebhookWithSecret) => void
}

/** Asks whether the current secret has leaked, and gives the endpoint another one. */
export function RotateSecretDialog({ webhookId, onClose, onRotated }: RotateSecretDialogProps) {
  const [leaked, setLeaked] = useState(false)

  async function rotate() {
    const body = leaked ? { overlapHours: 0 } : {}
    onRotated(await send<WebhookWithSecret>('POST', `${pathOf(webhookId)}/rotate-secret`, body))
  }

  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title="Rotate the secret?"
      action="Rotate the secret"
      danger={leaked}
      onConfirm={rotate}
    >
      <p>
        {leaked
          ? 'Deliveries are signed with the new secret only, from now on. Your receiver rejects them until it has the new secret; they are sent again.'
          : 'For 24 hours, deliveries are signed with both secrets. Replace the secret in your receiver within that time.'}
      </p>
      <CheckField
        label="The current secret has leaked: stop using it now"
        checked={leaked}
        onChange={(event) => setLeaked(event.target.checked)}
      />
    </ConfirmDialog>
  )
}
