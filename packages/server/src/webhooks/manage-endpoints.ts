import {
  CodedError,
  type CreatedWebhook,
  MAX_WEBHOOK_URL_LENGTH,
  MAX_WEBHOOKS,
  type NewWebhook,
  type NewWebhookSecret,
  SET_EVENT_TYPES,
  type Webhook,
  type WebhookEventType,
  type WebhookFormat,
  type WebhookPatch,
  type Webhooks,
} from '@countersign/protocol'
import { type Caller, notifyOfAccess } from '../accounts/notify-of-access.ts'
import { assertOwnerNotSuspended } from '../accounts/owner-suspension.ts'
import { ownerById } from '../accounts/owner-table.ts'
import { timestamp } from '../base/timestamp.ts'
import type { Db, Tx } from '../database/database.ts'
import type { WebhookEndpointRow } from '../database/schema/webhook-rows.ts'
import type { Sender } from '../http/outbound/open-sender.ts'
import { ProofAbsent, Unreachable } from '../http/outbound/perspective.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'
import type { ServiceKey } from '../secrets/service-keys.ts'
import { countPending } from './delivery-table.ts'
import {
  deleteEndpoint,
  endpointById,
  endpointsOf,
  insertEndpoint,
  updateEndpoint,
} from './endpoint-table.ts'
import { beginListening } from './fan-out.ts'
import { isSetEvent } from './security-event-token.ts'
import { previousSecretUntil, publicKeyText, sealAuthorization, secretText } from './signatures.ts'

/** Dependencies of endpoints and deliveries. */
export interface WebhookDeps
  extends Pick<CoreDeps, 'db' | 'site' | 'pepper' | 'now' | 'randomBytes'> {
  /** Signs every delivery (`v1a`). */
  readonly webhookKey: Pick<ServiceKey, 'publicKey' | 'sign'>
  readonly sender: Pick<Sender, 'check' | 'post'>
}

const ID_BYTES = 12
const MAX_COUNT = 1000
const HOUR_MS = 3_600_000
/** Enough for receivers to learn of the new secret. */
const DEFAULT_OVERLAP_HOURS = 24

/** Whose endpoints: an owner's, or null for the operator's. */
type Whose = number | null

/** Who changes an endpoint: an owner, or null for the operator. */
type By = Caller | null

/** The endpoints of an owner or of the operator, newest first, and the key that verifies their deliveries. */
export async function listEndpoints(
  { db, webhookKey, now }: Pick<WebhookDeps, 'db' | 'webhookKey' | 'now'>,
  whose: Whose,
): Promise<Webhooks> {
  return {
    webhooks: await describeEndpoints(db.read, whose, now()),
    publicKey: publicKeyText(webhookKey),
  }
}

/** The endpoints of an owner or of the operator, newest first. @param at milliseconds since 1970 */
export async function describeEndpoints(db: Db, whose: Whose, at: number): Promise<Webhook[]> {
  const webhooks: Webhook[] = []
  for (const row of await endpointsOf(db, whose)) webhooks.push(await describeEndpoint(db, row, at))
  return webhooks
}

/**
 * Creates an endpoint, and notifies its owner. It gets the events from now on. The response is the only place where its secret appears.
 * @throws CodedError VALIDATION_ERROR if the service may not send to the URL or a setting does not go with the format, FORBIDDEN if the owner is
 *   suspended, UNAUTHENTICATED if the account was deleted, CONFLICT if they have 10 endpoints already
 */
export async function createEndpoint(
  deps: WebhookDeps,
  by: By,
  {
    url,
    eventTypes = null,
    format = 'standard',
    audience = null,
    authorization = null,
  }: NewWebhook,
): Promise<CreatedWebhook> {
  const { db, now, randomBytes } = deps
  const whose = by?.ownerId ?? null
  assertFits(format, { eventTypes, audience, authorization })
  const target = await checkedUrl(deps, url)
  const [id, salt] = [`wh_${randomText(randomBytes)}`, randomText(randomBytes)]
  const sealed = authorization === null ? null : sealAuthorization(deps, id, authorization)
  const row = await db.write(async (tx) => {
    if (whose !== null) await assertMayChange(tx.db, whose)
    if ((await endpointsOf(tx.db, whose)).length >= MAX_WEBHOOKS) {
      throw new CodedError(
        'CONFLICT',
        `There can be ${MAX_WEBHOOKS} webhook endpoints. Delete one that you no longer use.`,
      )
    }
    const inserted: WebhookEndpointRow = {
      id,
      owner_id: whose,
      url: target,
      created_by_key: by?.apiKey ?? null,
      created_by: by?.membership?.id ?? null,
      format,
      audience,
      sealed_authorization: sealed,
      types: typesText(eventTypes),
      secret_salt: salt,
      previous_salt: null,
      previous_until: null,
      state: 'active',
      disabled_reason: null,
      created_at: now(),
      after_seq: await beginListening(tx),
      due_at: 0,
      failures: 0,
      failing_since: null,
      delivered_at: null,
      leased_by: null,
      held_until: 0,
    }
    await insertEndpoint(tx, inserted)
    await notifyOfUrl(tx, by, 'owner.webhook_created', inserted, now())
    return inserted
  })
  return withSecret(deps, row)
}

/**
 * Gives an endpoint another secret, from the next attempt on. For `overlapHours`, deliveries carry a signature by the previous
 * one too; with 0, none does from now on. The response is the only place where the new secret appears.
 * @throws CodedError NOT_FOUND, FORBIDDEN if the owner is suspended, CONFLICT if the endpoint has no secret
 */
export async function rotateSecret(
  deps: Omit<WebhookDeps, 'sender'>,
  whose: Whose,
  id: string,
  { overlapHours = DEFAULT_OVERLAP_HOURS }: NewWebhookSecret,
): Promise<CreatedWebhook> {
  const { db, now, randomBytes } = deps
  const salt = randomText(randomBytes)
  const row = await db.write(async (tx) => {
    if (whose !== null) await assertMayChange(tx.db, whose)
    const { secret_salt, format } = await requireEndpoint(tx.db, whose, id)
    if (format === 'set') {
      throw new CodedError(
        'CONFLICT',
        'This endpoint has no secret: the keys of /.well-known/jwks.json sign its Security Event Tokens.',
      )
    }
    const isOverlapping = overlapHours > 0
    await updateEndpoint(tx, id, {
      secret_salt: salt,
      previous_salt: isOverlapping ? secret_salt : null,
      previous_until: isOverlapping ? now() + overlapHours * HOUR_MS : null,
    })
    return requireEndpoint(tx.db, whose, id)
  })
  return withSecret(deps, row)
}

async function withSecret(
  { db, now, pepper, webhookKey }: Pick<WebhookDeps, 'db' | 'now' | 'pepper' | 'webhookKey'>,
  row: WebhookEndpointRow,
): Promise<CreatedWebhook> {
  return {
    ...(await describeEndpoint(db.read, row, now())),
    secret: row.format === 'set' ? null : secretText(pepper, row),
    publicKey: publicKeyText(webhookKey),
  }
}

function randomText(randomBytes: WebhookDeps['randomBytes']): string {
  return Buffer.from(randomBytes(ID_BYTES)).toString('base64url')
}

/**
 * Changes an endpoint, and notifies its owner of a new URL, which removes the value of Authorization. After a new URL or an activation, what
 * waits is due at once.
 * @throws CodedError NOT_FOUND, VALIDATION_ERROR if the service may not send to the URL, a setting does not go with the format or the format would
 *   change, FORBIDDEN if the owner is suspended
 */
export async function changeEndpoint(
  deps: Pick<WebhookDeps, 'db' | 'now' | 'sender' | 'pepper' | 'randomBytes'>,
  by: By,
  id: string,
  { url, eventTypes, state, format, audience, authorization }: WebhookPatch,
): Promise<Webhook> {
  const { db } = deps
  const whose = by?.ownerId ?? null
  const current = await requireEndpoint(db.read, whose, id)
  if (format !== undefined && format !== current.format) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'The format of an endpoint cannot change. Create another endpoint with it.',
    )
  }
  assertFits(current.format, { eventTypes, audience, authorization })
  const target = url === undefined ? undefined : await checkedUrl(deps, url)
  const sealed =
    typeof authorization === 'string' ? sealAuthorization(deps, id, authorization) : authorization
  const row = await db.write(async (tx) => {
    if (whose !== null) await assertMayChange(tx.db, whose)
    const before = await requireEndpoint(tx.db, whose, id)
    const isMoved = target !== undefined && target !== before.url
    await updateEndpoint(tx, id, {
      ...(isMoved
        ? {
            url: target,
            created_by_key: by?.apiKey ?? null,
            created_by: by?.membership?.id ?? null,
            // A member who may change the URL must not have the value sent to themselves.
            sealed_authorization: null,
          }
        : {}),
      ...(sealed === undefined ? {} : { sealed_authorization: sealed }),
      ...(audience === undefined ? {} : { audience }),
      ...(eventTypes === undefined ? {} : { types: typesText(eventTypes) }),
      ...(state === undefined ? {} : await stateChange(tx, before, state)),
      ...(target === undefined && state !== 'active' ? {} : STARTED_AGAIN),
    })
    const changed = await requireEndpoint(tx.db, whose, id)
    if (isMoved) await notifyOfUrl(tx, by, 'owner.webhook_changed', changed, deps.now())
    return changed
  })
  return describeEndpoint(db.read, row, deps.now())
}

/** Settings of which some formats have no use. */
interface FormatSettings {
  readonly eventTypes: WebhookPatch['eventTypes'] | undefined
  readonly audience: string | null | undefined
  readonly authorization: string | null | undefined
}

/** @throws CodedError VALIDATION_ERROR */
function assertFits(
  format: WebhookFormat,
  { eventTypes, audience, authorization }: FormatSettings,
): void {
  if (typeof audience === 'string' && format !== 'set') {
    throw new CodedError('VALIDATION_ERROR', 'Only the format set has an audience. Leave it out.')
  }
  if (typeof authorization === 'string' && format === 'standard') {
    throw new CodedError(
      'VALIDATION_ERROR',
      'Only the formats ocsf and set have a value of Authorization. Leave it out, and verify the signatures.',
    )
  }
  if (format === 'set' && eventTypes && !eventTypes.some(isSetEvent)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `None of these types becomes a Security Event Token. Choose from: ${SET_EVENT_TYPES.join(', ')}.`,
    )
  }
}

async function notifyOfUrl(
  tx: Tx,
  by: By,
  type: 'owner.webhook_created' | 'owner.webhook_changed',
  { id, url }: WebhookEndpointRow,
  at: number,
): Promise<void> {
  if (by === null) return
  await notifyOfAccess(tx, by, { type, webhook: id, host: new URL(url).host }, at)
}

/** Earlier failures do not count. A turn in progress ends with its current attempt. */
const STARTED_AGAIN = {
  due_at: 0,
  failures: 0,
  failing_since: null,
  leased_by: null,
  held_until: 0,
} as const

async function stateChange(tx: Tx, before: WebhookEndpointRow, state: 'active' | 'paused') {
  const changed = { state, disabled_reason: null }
  if (before.state !== 'disabled') return changed
  return { ...changed, after_seq: await beginListening(tx) }
}

/** Deletes an endpoint with its log. @throws CodedError NOT_FOUND */
export async function removeEndpoint(
  { db }: Pick<WebhookDeps, 'db'>,
  whose: Whose,
  id: string,
): Promise<void> {
  await db.write(async (tx) => {
    await requireEndpoint(tx.db, whose, id)
    await deleteEndpoint(tx, id)
  })
}

/** Deletes the endpoints of an owner whose account is deleted. */
export async function deleteEndpointsOf(tx: Tx, ownerId: number): Promise<void> {
  for (const { id } of await endpointsOf(tx.db, ownerId)) await deleteEndpoint(tx, id)
}

/** @throws CodedError NOT_FOUND, also for an endpoint of somebody else */
export async function requireEndpoint(
  db: Db,
  whose: Whose,
  id: string,
): Promise<WebhookEndpointRow> {
  const row = await endpointById(db, id)
  if (row !== undefined && row.owner_id === whose) return row
  throw new CodedError('NOT_FOUND', 'There is no such webhook endpoint.')
}

/** @throws CodedError UNAUTHENTICATED if the account was deleted, FORBIDDEN if it is suspended */
export async function assertMayChange(db: Db, ownerId: number): Promise<void> {
  const owner = await ownerById(db, ownerId)
  if (owner === undefined || owner.deleted_at !== null) {
    throw new CodedError('UNAUTHENTICATED', 'Sign in first.')
  }
  await assertOwnerNotSuspended(db, ownerId)
}

/** @returns the URL as it is used @throws CodedError VALIDATION_ERROR */
async function checkedUrl({ sender }: Pick<WebhookDeps, 'sender'>, text: string): Promise<string> {
  const url = URL.parse(text)
  if (url === null || !text.isWellFormed() || url.href.length > MAX_WEBHOOK_URL_LENGTH) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'The URL is not valid. Example: https://example.com/webhook',
    )
  }
  // Not sent to the receiver, so it would only mislead.
  url.hash = ''
  try {
    await sender.check(url)
  } catch (error) {
    if (!(error instanceof Unreachable || error instanceof ProofAbsent)) throw error
    throw new CodedError(
      'VALIDATION_ERROR',
      `Deliveries cannot be sent to this URL: ${error.message}`,
    )
  }
  return url.href
}

/** All types are stored as null, so that those of later releases are among them. */
function typesText(eventTypes: readonly WebhookEventType[] | null): string | null {
  return eventTypes === null ? null : eventTypes.join(' ')
}

async function describeEndpoint(db: Db, row: WebhookEndpointRow, at: number): Promise<Webhook> {
  return {
    id: row.id,
    url: row.url,
    format: row.format,
    audience: row.audience,
    hasAuthorization: row.sealed_authorization !== null,
    eventTypes: row.types === null ? null : (row.types.split(' ') as WebhookEventType[]),
    state: row.state,
    disabledReason: row.disabled_reason,
    createdAt: timestamp(row.created_at),
    createdByKey: row.created_by_key,
    previousSecretUntil: timestampOrNull(previousSecretUntil(row, at)),
    failingSince: timestampOrNull(row.failing_since),
    lastDeliveredAt: timestampOrNull(row.delivered_at),
    nextAttemptAt:
      row.failing_since === null || row.state !== 'active' ? null : timestamp(row.due_at),
    pending: await countPending(db, row.id, MAX_COUNT),
  }
}

function timestampOrNull(milliseconds: number | null): string | null {
  return milliseconds === null ? null : timestamp(milliseconds)
}
