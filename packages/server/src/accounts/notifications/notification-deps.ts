import type { OwnerDeps } from '../owners/owner-deps.ts'

export interface NotificationDeps extends OwnerDeps {
  /** How e-mail is delivered. Null: not at all. */
  readonly mailDelivery: 'smtp' | 'development' | null
}
