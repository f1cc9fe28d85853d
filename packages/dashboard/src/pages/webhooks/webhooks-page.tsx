import {
  type CreatedWebhook,
  MAX_WEBHOOKS,
  type NewWebhook,
  type Webhook,
} from '@countersign/protocol'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DateTime } from '../../components/date-time.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Page } from '../../components/page.tsx'
import { useRecentSignIn } from '../../components/recent-sign-in.tsx'
import { Loading, Skeleton } from '../../components/skeleton.tsx'
import { toast } from '../../components/toast.tsx'
import { refreshWebhooks, WEBHOOKS_PATH, webhooksQuery } from './queries.ts'
import { FORMAT_LABELS, WebhookDialog } from './webhook-dialog.tsx'
import { WebhookMark } from './webhook-mark.tsx'
import { WebhookSecret, type WebhookWithSecret } from './webhook-secret.tsx'

/** Lists the owner's endpoints and creates new ones. A new secret is shown once. */
export function WebhooksPage() {
  const { data, error, isPending, refetch } = useQuery(webhooksQuery)
  const queries = useQueryClient()
  const withRecentSignIn = useRecentSignIn()
  const [creating, setCreating] = useState(false)
  const [created, setCreated] = useState<WebhookWithSecret | null>(null)

  async function create(choice: NewWebhook) {
    const { secret, ...webhook } = await withRecentSignIn(() =>
      send<CreatedWebhook>('POST', WEBHOOKS_PATH, choice),
    )
    setCreating(false)
    if (secret === null) toast('The endpoint is added.')
    else setCreated({ ...webhook, secret })
    await refreshWebhooks(queries)
  }

  if (created !== null) {
    return (
      <WebhookSecret title="Your new endpoint" webhook={created} onDone={() => setCreated(null)} />
    )
  }
  const webhooks = data?.webhooks ?? []
  return (
    <Page
      title="Webhooks"
      lead={
        <>
          The service sends events of your agents to your endpoints, signed.{' '}
          <a href="/docs/webhooks" className="underline">
            How to verify them
          </a>
        </>
      }
      actions={
        webhooks.length < MAX_WEBHOOKS && (
          <Button variant="primary" onClick={() => setCreating(true)}>
            Add an endpoint
          </Button>
        )
      }
    >
      <ErrorNote error={error} onRetry={() => void refetch()} />
      {isPending && (
        <>
          <Loading what="your endpoints" />
          <Skeleton className="h-40 rounded-2xl" />
        </>
      )}
      {data !== undefined && webhooks.length === 0 && (
        <p className="rounded-2xl border border-line-strong border-dashed p-6 sm:p-10">
          No endpoints yet
        </p>
      )}
      {webhooks.length > 0 && (
        <ul className="flex flex-col gap-4">
          {webhooks.map((webhook) => (
            <Item key={webhook.id} webhook={webhook} />
          ))}
        </ul>
      )}
      {creating && (
        <WebhookDialog
          title="Add an endpoint"
          action="Add the endpoint"
          onClose={() => setCreating(false)}
          onSubmit={create}
        />
      )}
    </Page>
  )
}

function Item({ webhook }: { readonly webhook: Webhook }) {
  const { id, url, format, eventTypes, pending, lastDeliveredAt } = webhook
  return (
    <li className="flex flex-col gap-2 rounded-2xl border border-line bg-surface p-5 sm:p-6">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <h2 className="wrap-anywhere min-w-0 font-mono font-semibold">
          <Link
            to="/webhooks/$webhook"
            params={{ webhook: id }}
            className="text-accent underline underline-offset-4 hover:text-accent-strong"
          >
            {url}
          </Link>
        </h2>
        <WebhookMark {...webhook} />
      </div>
      <p className="text-soft text-sm">
        {format !== 'standard' && `${FORMAT_LABELS[format]} · `}
        {eventTypes === null ? 'All events' : eventTypes.join(' · ')}
      </p>
      <p className="text-soft text-sm">
        {lastDeliveredAt === null ? (
          'Nothing delivered yet.'
        ) : (
          <>
            Last delivery <DateTime at={lastDeliveredAt} as="ago" />.
          </>
        )}{' '}
        {pending > 0 && `${waitingText(pending)}.`}
      </p>
    </li>
  )
}

/** The service counts up to 1,000. */
export function waitingText(pending: number): string {
  if (pending >= 1000) return '1,000 or more deliveries wait'
  return pending === 1 ? '1 delivery waits' : `${pending} deliveries wait`
}
