import {
  SET_EVENT_TYPES,
  SET_TOKEN_TYPE,
  type SetEventType,
  type Tail,
  WEBHOOK_TEST_TYPE,
} from '@countersign/protocol'
import { didOfAgent, type Site } from '../base/site.ts'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../database/schema/webhook-rows.ts'
import type { IssuerKeys } from '../secrets/issuer-keys/issuer-keys.ts'

const CREDENTIAL_CHANGE = 'caep/event-type/credential-change'
const CREDENTIAL = { credential_type: 'verifiable-credential' }

interface SetEvent {
  /** Below `https://schemas.openid.net/secevent/`. */
  readonly path: string
  readonly members: Readonly<Record<string, string>>
  /** Whether it has `event_timestamp`. RISC gives its account events no such member. */
  readonly isTimed: boolean
}

function credentialChange(change: 'create' | 'update' | 'revoke'): SetEvent {
  const members = { ...CREDENTIAL, change_type: change }
  return { path: CREDENTIAL_CHANGE, members, isTimed: true }
}

function account(change: 'account-disabled' | 'account-enabled'): SetEvent {
  return { path: `risc/event-type/${change}`, members: {}, isTimed: false }
}

/** The events of CAEP 1.0 and RISC 1.0. CAEP has no suspension. */
const EVENTS: Readonly<Record<SetEventType, SetEvent>> = {
  'agent.claimed': credentialChange('create'),
  'agent.key_rotated': credentialChange('update'),
  'agent.key_recovered': credentialChange('update'),
  'agent.key_contested': credentialChange('update'),
  'agent.revoked': credentialChange('revoke'),
  'agent.key_compromised': {
    path: 'risc/event-type/credential-compromise',
    members: CREDENTIAL,
    isTimed: true,
  },
  'agent.suspended': account('account-disabled'),
  'agent.reactivated': account('account-enabled'),
}

/** Whether an event of this type becomes a Security Event Token. */
export function isSetEvent(type: string): type is SetEventType {
  return (SET_EVENT_TYPES as readonly string[]).includes(type)
}

type Delivery = Pick<WebhookDeliveryRow, 'id' | 'type' | 'tail' | 'at' | 'created_at'>
type Endpoint = Pick<WebhookEndpointRow, 'id' | 'url' | 'audience'>

/**
 * Signs a delivery as a Security Event Token (RFC 8417). With the same key, every attempt has the same bytes.
 * @param txn the same for all endpoints; null: a test
 * @throws what `IssuerKeys.sign` throws
 */
export function signEventToken(
  { site, issuerKeys }: { readonly site: Site; readonly issuerKeys: Pick<IssuerKeys, 'sign'> },
  endpoint: Endpoint,
  delivery: Delivery,
  txn: string | null,
): string {
  return issuerKeys.sign(SET_TOKEN_TYPE, {
    iss: site.baseUrl,
    jti: delivery.id,
    iat: seconds(delivery.created_at),
    aud: endpoint.audience ?? endpoint.url,
    ...(txn !== null && { txn }),
    ...subjectAndEvent(site, endpoint, delivery),
  })
}

function subjectAndEvent(site: Site, endpoint: Endpoint, { type, tail, at }: Delivery) {
  if (type === WEBHOOK_TEST_TYPE || !isSetEvent(type)) {
    // SSF 1.0 section 8.1.4.1: the subject of a verification is the stream.
    return {
      sub_id: { format: 'opaque', id: endpoint.id },
      events: eventOf('ssf/event-type/verification', {}),
    }
  }
  const { path, members, isTimed } = EVENTS[type]
  const did = didOfAgent(site, tail as Tail)
  return {
    sub_id: { format: 'iss_sub', iss: site.baseUrl, sub: did },
    events: eventOf(path, { ...members, ...(isTimed && { event_timestamp: seconds(at) }) }),
  }
}

function eventOf(path: string, members: object) {
  return { [`https://schemas.openid.net/secevent/${path}`]: members }
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
