import type { ServiceKey } from '../core/crypto/service-keys.ts'
import type { CoreDeps } from '../core/deps.ts'
import type { Sender } from '../core/network/open-sender.ts'

/** Dependencies of endpoints and deliveries. */
export interface WebhookDeps
  extends Pick<CoreDeps, 'db' | 'site' | 'pepper' | 'now' | 'randomBytes'> {
  /** Signs every delivery (`v1a`). */
  readonly webhookKey: Pick<ServiceKey, 'publicKey' | 'sign'>
  readonly sender: Pick<Sender, 'check' | 'post'>
}
