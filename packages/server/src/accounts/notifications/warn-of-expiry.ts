import type { Database, Tx } from '../../database/database.ts'
import {
  type ExpiringChannel,
  type ExpiringVerification,
  type ExpiryWindow,
  expiringChannels,
  expiringVerifications,
} from './expiring-table.ts'
import { appendNotification } from './notify-owner.ts'

interface WarningDeps {
  readonly db: Database
  readonly now: () => number
}

const DAY_MS = 86_400_000
/** How many days before something expires its owner is warned. */
const THRESHOLDS = [1, 7, 30] as const
/** A service that was down when a threshold passed still warns for so long. The last one always warns. */
const LATE_MS = 2 * DAY_MS
/** Bounds a transaction, because other writers wait for it. */
const PAGE_SIZE = 100
const INTERVAL_MS = 60_000

/**
 * Warns owners before verifications and proofs of channels expire. Reads what expires instead of following changes: whatever
 * sets an expiry, also an older release, needs to schedule nothing.
 */
export class ExpiryWarnings {
  readonly #deps: WarningDeps
  #nextAt = 0

  constructor(deps: WarningDeps) {
    this.#deps = deps
  }

  /** Warns, at most once a minute by the service's clock. A run that fails is repeated by the next one. */
  async run(): Promise<void> {
    const at = this.#deps.now()
    // A clock that was set back must not silence warnings.
    if (at < this.#nextAt && this.#nextAt - at <= INTERVAL_MS) return
    await warnOfExpiry(this.#deps)
    this.#nextAt = at + INTERVAL_MS
  }
}

async function warnOfExpiry({ db, now }: WarningDeps): Promise<void> {
  for (const days of THRESHOLDS) {
    const at = now()
    const window = windowOf(days, at)
    await inPages(
      () => expiringVerifications(db.read, window, PAGE_SIZE),
      (rows) => db.write((tx) => warnOfVerifications(tx, rows, at)),
    )
    await inPages(
      () => expiringChannels(db.read, window, PAGE_SIZE),
      (rows) => db.write((tx) => warnOfChannels(tx, rows, at)),
    )
  }
}

/**
 * Of several thresholds, only the one that has just passed warns. What is valid for a short time is not warned of before half of it
 * has passed, except on its last day.
 */
function windowOf(days: number, at: number): ExpiryWindow {
  const until = at + days * DAY_MS
  if (days === 1) return { after: at, until, minLifetimeMs: 0, days }
  return { after: until - LATE_MS, until, minLifetimeMs: 2 * days * DAY_MS, days }
}

async function inPages<T>(
  read: () => Promise<readonly T[]>,
  warn: (rows: readonly T[]) => Promise<void>,
): Promise<void> {
  for (;;) {
    const rows = await read()
    if (rows.length > 0) await warn(rows)
    if (rows.length < PAGE_SIZE) return
  }
}

async function warnOfVerifications(
  tx: Tx,
  rows: readonly ExpiringVerification[],
  at: number,
): Promise<void> {
  for (const { owner_id: ownerId, provider, expires_at: expiresAt, subject } of rows) {
    const details = { provider, expiresAt }
    await appendNotification(tx, { ownerId, kind: 'verification_expiring', subject, details, at })
  }
}

async function warnOfChannels(tx: Tx, rows: readonly ExpiringChannel[], at: number): Promise<void> {
  for (const { owner_id: ownerId, subject, ...row } of rows) {
    const details = {
      tail: row.tail,
      agentId: row.agent_id,
      channelId: row.channel_id,
      channelKind: row.kind,
      handle: row.handle_or_domain,
      expiresAt: row.fresh_until,
    }
    await appendNotification(tx, { ownerId, kind: 'channel_expiring', subject, details, at })
  }
}
