import { type Tail, WEBHOOK_TEST_TYPE } from '@countersign/protocol'
import { eventUid } from '../accounts/event-uid.ts'
import { ocsfEvent } from '../accounts/ocsf.ts'
import { didOfAgent, type Site } from '../base/site.ts'
import { timestamp } from '../base/timestamp.ts'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../database/schema/webhook-rows.ts'
import type { OutboundMessage } from '../http/outbound/open-sender.ts'
import type { IssuerKeys } from '../secrets/issuer-keys/issuer-keys.ts'
import { signEventToken } from './security-event-token.ts'
import { type SignatureDeps, type SigningEndpoint, signatureHeaders } from './signatures.ts'

/** What a message depends on besides the delivery. */
export interface MessageDeps extends SignatureDeps {
  readonly site: Site
  readonly serviceName: string
  readonly issuerKeys: Pick<IssuerKeys, 'sign'>
}

/** An endpoint, as far as its messages depend on it. */
export type MessageEndpoint = SigningEndpoint &
  Pick<WebhookEndpointRow, 'url' | 'format' | 'audience'>

/** A delivery, as far as its message depends on it. */
export type Delivery = Pick<
  WebhookDeliveryRow,
  'id' | 'seq' | 'type' | 'tail' | 'at' | 'created_at'
>

/** When a message is sent, and within which numbering of events. */
export interface Moment {
  /** Milliseconds since the Unix epoch. */
  readonly at: number
  /** Null: `standard` and tests do not need it. */
  readonly epoch: string | null
}

/** Builds and signs the request of an attempt. @throws what `IssuerKeys.sign` throws */
export function composeMessage(
  deps: MessageDeps,
  endpoint: MessageEndpoint,
  delivery: Delivery,
  { at, epoch }: Moment,
): OutboundMessage {
  const uid =
    epoch === null || delivery.seq === null ? null : eventUid(epoch, { seq: delivery.seq, id: 0 })
  if (endpoint.format === 'set') {
    // RFC 8935 section 2.1
    const headers = { 'content-type': 'application/secevent+jwt', accept: 'application/json' }
    return { headers, body: signEventToken(deps, endpoint, delivery, uid) }
  }
  const body = JSON.stringify(
    endpoint.format === 'ocsf'
      ? ocsfBody(deps, endpoint, delivery, uid ?? delivery.id)
      : standardBody(deps.site, endpoint, delivery),
  )
  const signatures = signatureHeaders(deps, endpoint, { id: delivery.id, body }, at)
  return { headers: { 'content-type': 'application/json', ...signatures }, body }
}

/**
 * The payload of Standard Webhooks. It names the endpoint, because the `v1a` key is that of the whole service: otherwise a receiver
 * could pass a delivery on to another one.
 */
function standardBody(site: Site, endpoint: MessageEndpoint, delivery: Delivery) {
  return {
    type: delivery.type,
    timestamp: timestamp(delivery.at),
    data: { endpoint: endpoint.id, ...dataOf(site, delivery) },
  }
}

/** What a delivery is about. No text that anyone chose: receivers read the rest at the URL. */
function dataOf(site: Site, { seq, tail }: Delivery) {
  if (tail === null) return {}
  const did = didOfAgent(site, tail as Tail)
  return { seq, [site.naming.didField]: did, url: `${site.baseUrl}/api/v1/agent/${did}` }
}

function ocsfBody(
  { site, serviceName }: MessageDeps,
  endpoint: MessageEndpoint,
  { type, at, tail }: Delivery,
  uid: string,
) {
  const isTest = type === WEBHOOK_TEST_TYPE || tail === null
  const subject = isTest ? { webhook: endpoint.id } : { agent: didOfAgent(site, tail as Tail) }
  const service = { baseUrl: site.baseUrl, serviceName }
  return ocsfEvent(service, { type, at, uid, subject, payload: null })
}
