import type { Role } from '@countersign/protocol'
import type { Tx } from '../database/database.ts'
import { recordAccountActivity } from './account-activity-table.ts'
import { appendNotification } from './notifications/notify-owner.ts'

/** A member, as far as a request needs it. */
export interface Membership {
  readonly id: string
  readonly role: Role
}

/** Who made a request of an owner. */
export interface Caller {
  /** Whose things are read and changed: the person's own, or an organisation's. */
  readonly ownerId: number
  /** Of who acts for an organisation; null: a person acts for their own account. */
  readonly membership: Membership | null
  /** The id of the API key that authenticated the request; null: a session. */
  readonly apiKey: string | null
}

/** Access that outlasts the session or the API key that created it. */
export type NewAccess =
  | {
      readonly type: 'owner.webhook_created' | 'owner.webhook_changed'
      readonly webhook: string
      /** Not the whole URL: its path may contain a secret. */
      readonly host: string
    }
  | {
      readonly type: 'owner.grant_issuer_created'
      readonly grantIssuer: string
      readonly name: string
    }
  | {
      readonly type: 'owner.scim_token_created'
      readonly scimToken: string
    }
  /** Who holds the domain can verify the organisation. */
  | { readonly type: 'owner.domain_set'; readonly domain: string }
  | {
      readonly type: 'owner.sso_connected'
      /** Of the issuer. */
      readonly host: string
    }

/**
 * Notifies an owner of new access, and records it as an activity, in the transaction of the change.
 * @param at milliseconds since the Unix epoch
 */
export async function notifyOfAccess(
  tx: Tx,
  { ownerId, apiKey }: Caller,
  { type, ...access }: NewAccess,
  at: number,
): Promise<void> {
  const details = { ...access, ...(apiKey !== null && { apiKey }) }
  await recordAccountActivity(tx, { ownerId, type, details, at })
  await appendNotification(tx, {
    ownerId,
    kind: 'access_changed',
    subject: `${type}:${JSON.stringify(access)}:${at}`,
    details: { change: type, ...details },
    at,
  })
}
