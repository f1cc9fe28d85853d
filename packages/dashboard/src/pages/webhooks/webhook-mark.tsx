import type { Webhook, WebhookDeliveryState } from '@countersign/protocol'
import { Icon, type IconName } from '../../channels/icon.tsx'

interface Style {
  readonly text: string
  readonly icon: IconName
  readonly colours: string
}

const ENDPOINT_STYLES = {
  active: { text: 'Active', icon: 'tick', colours: 'bg-good-wash text-good' },
  failing: { text: 'Failing', icon: 'warning', colours: 'bg-warn-wash text-warn' },
  paused: { text: 'Paused', icon: 'bar', colours: 'bg-sunken text-soft' },
  disabled: { text: 'Disabled', icon: 'warning', colours: 'bg-bad-wash text-bad' },
} as const satisfies Record<string, Style>

const DELIVERY_STYLES: Readonly<Record<WebhookDeliveryState | 'retrying', Style>> = {
  pending: { text: 'Waiting', icon: 'clock', colours: 'bg-sunken text-soft' },
  retrying: { text: 'Retrying', icon: 'clock', colours: 'bg-warn-wash text-warn' },
  delivered: { text: 'Delivered', icon: 'tick', colours: 'bg-good-wash text-good' },
  failed: { text: 'Failed', icon: 'warning', colours: 'bg-bad-wash text-bad' },
}

/** Shows the state of an endpoint by text, icon and colour. */
export function WebhookMark({ state, failingSince }: Pick<Webhook, 'state' | 'failingSince'>) {
  const isFailing = state === 'active' && failingSince !== null
  return <Mark {...ENDPOINT_STYLES[isFailing ? 'failing' : state]} />
}

interface DeliveryMarkProps {
  readonly state: WebhookDeliveryState
  readonly attempts: number
}

/** Shows the state of a delivery by text, icon and colour. */
export function DeliveryMark({ state, attempts }: DeliveryMarkProps) {
  return <Mark {...DELIVERY_STYLES[state === 'pending' && attempts > 0 ? 'retrying' : state]} />
}

function Mark({ text, icon, colours }: Style) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 whitespace-nowrap rounded-full px-2.5 py-1 font-semibold text-sm leading-none ${colours}`}
    >
      <Icon name={icon} className="size-4" />
      {text}
    </span>
  )
}
