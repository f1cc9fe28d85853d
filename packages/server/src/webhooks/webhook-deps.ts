import type { Sender } from '../http/outbound/open-sender.ts'
import type { CoreDeps } from '../secrets/core-deps.ts'
import type { ServiceKey } from '../secrets/service-keys.ts'

/** Dependencies of endpoints and deliveries. */
export interface WebhookDeps
  extends Pick<CoreDeps, 'db' | 'site' | 'pepper' | 'now' | 'randomBytes'> {
  /** Signs every delivery (`v1a`). */
  readonly webhookKey: Pick<ServiceKey, 'publicKey' | 'sign'>
  readonly sender: Pick<Sender, 'check' | 'post'>
}
