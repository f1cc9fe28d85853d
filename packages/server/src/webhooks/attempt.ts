import { currentEpoch } from '../accounts/event-uid.ts'
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../database/schema/webhook-rows.ts'
import { parseJson } from '../http/outbound/bounded-fetch.ts'
import type { Receipt } from '../http/outbound/open-sender.ts'
import { ProofAbsent, Unreachable } from '../http/outbound/perspective.ts'
import {
  composeMessage,
  type Delivery,
  type MessageDeps,
  type MessageEndpoint,
} from './compose-message.ts'
import type { AttemptResult } from './delivery-table.ts'
import type { WebhookDeps } from './manage-endpoints.ts'
import { unsealAuthorization } from './signatures.ts'

const GONE = 410
const BAD_REQUEST = 400

/** How one request to a receiver ended. */
export interface Attempt {
  readonly status: number | null
  /** Why it failed, in a sentence. Null: the receiver has accepted it. */
  readonly problem: string | null
  readonly startedAt: number
  readonly durationMs: number
  /** The receiver wants no more deliveries. */
  readonly isGone: boolean
}

/** What deliveries need besides what endpoints need. */
export interface DeliveryDeps
  extends WebhookDeps,
    Pick<MessageDeps, 'serviceName' | 'issuerKeys'> {}

/**
 * Sends one delivery to its endpoint. Only a status of 2xx is a success.
 * @param stopped aborts it
 * @throws errors that are not of the network: of the service, or bugs
 */
export async function attempt(
  deps: DeliveryDeps,
  endpoint: MessageEndpoint & Pick<WebhookEndpointRow, 'sealed_authorization'>,
  delivery: Delivery,
  stopped?: AbortSignal,
): Promise<Attempt> {
  const startedAt = deps.now()
  const url = new URL(endpoint.url)
  const ended = (status: number | null, problem: string | null): Attempt => {
    const durationMs = Math.max(0, Math.round(deps.now() - startedAt))
    return { status, problem, startedAt, durationMs, isGone: status === GONE }
  }
  const authorization = authorizationOf(deps, endpoint)
  if (authorization === null) return ended(null, UNREADABLE)
  const isNumbered = endpoint.format !== 'standard' && delivery.seq !== null
  const epoch = isNumbered ? await currentEpoch(deps.db.read) : null
  const message = composeMessage(deps, endpoint, delivery, { at: startedAt, epoch })
  const headers = { ...message.headers, ...authorization }
  try {
    const receipt = await deps.sender.post(url, { ...message, headers }, stopped)
    return ended(receipt.status, problemOf(url, endpoint, receipt))
  } catch (error) {
    if (error instanceof Unreachable || error instanceof ProofAbsent) {
      return ended(null, error.message)
    }
    throw error
  }
}

const UNREADABLE =
  'The value of Authorization can no longer be decrypted. Enter it again; nothing was sent.'

/** @returns null if it was encrypted with another pepper */
function authorizationOf(
  { pepper }: DeliveryDeps,
  { id, sealed_authorization: sealed }: Pick<WebhookEndpointRow, 'id' | 'sealed_authorization'>,
): { readonly authorization?: string } | null {
  if (sealed === null) return {}
  const authorization = unsealAuthorization(pepper, id, sealed)
  return authorization === null ? null : { authorization }
}

/** The columns of a delivery that an attempt sets. */
export function resultRow(
  state: WebhookDeliveryRow['state'],
  { status, problem, startedAt, durationMs }: Attempt,
): AttemptResult {
  return { state, status, problem, attempted_at: startedAt, duration_ms: durationMs }
}

function problemOf(
  { hostname }: URL,
  { format }: Pick<WebhookEndpointRow, 'format'>,
  { status, body }: Receipt,
): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) {
    return `${hostname} answers with a redirect (${status}), which is not followed.`
  }
  if (status === GONE) return `${hostname} answers with 410: it wants no more deliveries.`
  const code = format === 'set' && status === BAD_REQUEST ? errorCodeIn(body) : null
  return `${hostname} answers with ${status}${code === null ? '' : ` (${code})`}.`
}

/** Why a receiver refuses a Security Event Token (RFC 8935 section 2.4). Any other text of a stranger stays out of the log. */
function errorCodeIn(body: Uint8Array | null): string | null {
  const { err } = (parseJson(body ?? '') ?? {}) as { err?: unknown }
  return typeof err === 'string' && /^[a-z_]{1,40}$/.test(err) ? err : null
}
