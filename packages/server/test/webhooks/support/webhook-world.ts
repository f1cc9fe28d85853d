import assert from 'node:assert/strict'
import type {
  CreatedWebhook,
  NewWebhook,
  Webhook,
  WebhookDeliveries,
  Webhooks,
} from '@countersign/protocol'
import { jsonOf } from '../../../../../test/support/answer.ts'
import { type Cleanup, startTestService } from '../../../../../test/support/service.ts'
import { type SignedInOwner, signIn } from '../../../../../test/support/signed-in.ts'
import { untilTicked } from '../../../../../test/support/until.ts'
import { type Receiver, startReceiver } from './receiver.ts'

export const WEBHOOKS = '/api/account/webhooks'

/** An endpoint with signatures of Standard Webhooks. */
export type WithSecret = CreatedWebhook & { readonly secret: string }

/** An owner with one endpoint. */
export interface World {
  readonly owner: SignedInOwner
  readonly receiver: Receiver
  readonly webhook: WithSecret
  readonly path: string
}

/** A service whose clock stands still, so that nothing is due because a machine is slow; and owners with endpoints. */
export type WebhookService = Awaited<ReturnType<typeof startWebhookService>>

export async function startWebhookService(t: Cleanup) {
  const start = Date.now()
  const clock = { ahead: 0 }
  const service = await startTestService(t, {}, () => start + clock.ahead)
  const newOwner = async (): Promise<SignedInOwner> =>
    signIn(service, await service.operator.addVerifiedOwner())
  return {
    service,
    clock,
    newOwner,
    async newWorld(
      eventTypes: readonly string[] | null = null,
      settings: Omit<NewWebhook, 'url' | 'eventTypes'> = {},
    ): Promise<World> {
      const [owner, receiver] = [await newOwner(), await startReceiver(t)]
      const created = await owner.post(WEBHOOKS, { url: receiver.url, eventTypes, ...settings })
      assert.equal(created.status, 201, created.text)
      const webhook = jsonOf<WithSecret>(created)
      return { owner, receiver, webhook, path: `${WEBHOOKS}/${webhook.id}` }
    },
    untilReceived: ({ receiver }: World, count: number) =>
      untilTicked(service, async () => receiver.received.length >= count),
    /** Everything is delivered, and its results are recorded. */
    untilDone: (world: World) =>
      untilTicked(service, async () =>
        (await logOf(world)).every(({ state }) => state === 'delivered'),
      ),
  }
}

export async function webhookOf({ owner, webhook }: World): Promise<Webhook> {
  const { webhooks } = jsonOf<Webhooks>(await owner.get(WEBHOOKS))
  return webhooks.find(({ id }) => id === webhook.id) as Webhook
}

export async function logOf(
  { owner, path }: World,
  query = '',
): Promise<WebhookDeliveries['deliveries']> {
  return jsonOf<WebhookDeliveries>(await owner.get(`${path}/deliveries${query}`)).deliveries
}

export async function suspend({ owner }: World, did: string): Promise<void> {
  assert.equal((await owner.post(`/api/account/agents/${did}/suspend`, {})).status, 200)
}

export async function reactivate({ owner }: World, did: string): Promise<void> {
  assert.equal((await owner.post(`/api/account/agents/${did}/reactivate`, {})).status, 200)
}
