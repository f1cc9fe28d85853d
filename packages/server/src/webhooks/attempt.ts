import type { WebhookDeliveryRow, WebhookEndpointRow } from '../database/schema/webhook-rows.ts'
import { ProofAbsent, Unreachable } from '../http/outbound/perspective.ts'
import type { AttemptResult } from './delivery-table.ts'
import type { WebhookDeps } from './manage-endpoints.ts'
import { composeMessage, type SigningEndpoint } from './signatures.ts'

const GONE = 410

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

/**
 * Sends one delivery to its endpoint. Only a status of 2xx is a success.
 * @param stopped aborts it
 * @throws errors that are not of the network, which are bugs
 */
export async function attempt(
  deps: Pick<WebhookDeps, 'site' | 'pepper' | 'webhookKey' | 'sender' | 'now'>,
  endpoint: SigningEndpoint & Pick<WebhookEndpointRow, 'url'>,
  delivery: Pick<WebhookDeliveryRow, 'id' | 'seq' | 'type' | 'tail' | 'at'>,
  stopped?: AbortSignal,
): Promise<Attempt> {
  const startedAt = deps.now()
  const message = composeMessage(deps, endpoint, delivery, startedAt)
  const url = new URL(endpoint.url)
  const ended = (status: number | null, problem: string | null): Attempt => {
    const durationMs = Math.max(0, Math.round(deps.now() - startedAt))
    return { status, problem, startedAt, durationMs, isGone: status === GONE }
  }
  try {
    const status = await deps.sender.post(url, message, stopped)
    return ended(status, problemOf(url, status))
  } catch (error) {
    if (error instanceof Unreachable || error instanceof ProofAbsent) {
      return ended(null, error.message)
    }
    throw error
  }
}

/** The columns of a delivery that an attempt sets. */
export function resultRow(
  state: WebhookDeliveryRow['state'],
  { status, problem, startedAt, durationMs }: Attempt,
): AttemptResult {
  return { state, status, problem, attempted_at: startedAt, duration_ms: durationMs }
}

function problemOf({ hostname }: URL, status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) {
    return `${hostname} answers with a redirect (${status}), which is not followed.`
  }
  if (status === GONE) return `${hostname} answers with 410: it wants no more deliveries.`
  return `${hostname} answers with ${status}.`
}
