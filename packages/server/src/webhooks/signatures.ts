import { createHash, createHmac } from 'node:crypto'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../database/schema/webhook-rows.ts'
import { seal, unseal } from '../secrets/seal.ts'
import type { Pepper } from '../secrets/secrets.ts'
import type { ServiceKey } from '../secrets/service-keys.ts'

/** What the signatures of a message depend on besides the message. */
export interface SignatureDeps {
  readonly pepper: Pick<Pepper, 'authenticate'>
  readonly webhookKey: Pick<ServiceKey, 'sign'>
}

/** An endpoint with its salts. */
export type SigningEndpoint = Pick<
  WebhookEndpointRow,
  'id' | 'secret_salt' | 'previous_salt' | 'previous_until'
>

/**
 * The `webhook-id` of an event at an endpoint: always the same, whichever node delivers it and however often. It depends on
 * what happened, since a failover can lose events and give their numbers to others.
 */
export function deliveryId(
  endpointId: string,
  { seq, at, type, tail }: Pick<WebhookDeliveryRow, 'seq' | 'at' | 'type' | 'tail'>,
): string {
  const digest = createHash('sha256').update(JSON.stringify([endpointId, seq, at, type, tail]))
  return `msg_${digest.digest('base64url').slice(0, 22)}`
}

/**
 * The key of the `v1` signatures: 32 bytes, derived from the deployment's secret, so that every node can sign and neither
 * the database nor a backup of it holds a secret.
 */
function secretOf(pepper: SignatureDeps['pepper'], id: string, salt: string): Uint8Array {
  return pepper.authenticate('webhook-secret', JSON.stringify([id, salt]))
}

/** The secret in the serialization of Standard Webhooks: `whsec_` and base64. */
export function secretText(
  pepper: SignatureDeps['pepper'],
  { id, secret_salt }: Pick<WebhookEndpointRow, 'id' | 'secret_salt'>,
): string {
  return `whsec_${Buffer.from(secretOf(pepper, id, secret_salt)).toString('base64')}`
}

/** Until when the secret before the current one signs too; null if it no longer does. @param at milliseconds since 1970 */
export function previousSecretUntil(
  { previous_salt, previous_until }: SigningEndpoint,
  at: number,
): number | null {
  return previous_salt !== null && previous_until !== null && previous_until > at
    ? previous_until
    : null
}

/** The public key of the `v1a` signatures in the serialization of Standard Webhooks: `whpk_` and base64. */
export function publicKeyText({ publicKey }: Pick<ServiceKey, 'publicKey'>): string {
  return `whpk_${Buffer.from(publicKey).toString('base64')}`
}

/**
 * The headers of Standard Webhooks (standardwebhooks.com) for a body.
 * @param at the time of the attempt, in milliseconds since the Unix epoch
 */
export function signatureHeaders(
  { pepper, webhookKey }: SignatureDeps,
  endpoint: SigningEndpoint,
  { id, body }: { readonly id: string; readonly body: string },
  at: number,
): Record<string, string> {
  const sentAt = Math.floor(at / 1000)
  const signed = Buffer.from(`${id}.${sentAt}.${body}`)
  const hmacs = saltsOf(endpoint, at).map((salt) =>
    createHmac('sha256', secretOf(pepper, endpoint.id, salt))
      .update(signed)
      .digest('base64'),
  )
  const signature = Buffer.from(webhookKey.sign(signed)).toString('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': String(sentAt),
    'webhook-signature': [...hmacs.map((hmac) => `v1,${hmac}`), `v1a,${signature}`].join(' '),
  }
}

/** The current salt, and the previous one as long as it signs. */
function saltsOf(endpoint: SigningEndpoint, at: number): string[] {
  const { secret_salt, previous_salt } = endpoint
  const isTwo = previous_salt !== null && previousSecretUntil(endpoint, at) !== null
  return isTwo ? [secret_salt, previous_salt] : [secret_salt]
}

const AUTHORIZATION_PURPOSE = 'webhook-authorization'
const NONCE_BYTES = 12

interface SealDeps {
  readonly pepper: Pepper
  readonly randomBytes: (count: number) => Uint8Array
}

/** Encrypts the value of an endpoint's header Authorization. Of another endpoint, it cannot be decrypted. */
export function sealAuthorization(
  { pepper, randomBytes }: SealDeps,
  endpointId: string,
  value: string,
): Buffer {
  return seal(
    pepper,
    AUTHORIZATION_PURPOSE,
    Buffer.from(value),
    endpointId,
    randomBytes(NONCE_BYTES),
  )
}

/** @returns null if it was encrypted with another pepper */
export function unsealAuthorization(
  pepper: Pepper,
  endpointId: string,
  sealed: Uint8Array,
): string | null {
  return unseal(pepper, AUTHORIZATION_PURPOSE, sealed, endpointId)?.toString() ?? null
}
