import type { ChannelRow } from '../core/database/database.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** How long a token can prove a channel for the first time. */
export const TOKEN_LIFETIME_MS = 7 * DAY_MS
/** Proofs are looked for every day. */
export const RECHECK_MS = DAY_MS
/** Sooner where nobody knew. */
export const RETRY_MS = HOUR_MS
/** Whole days are shortened by up to so much, so that what came together does not come together every day. */
const SPREAD_MS = HOUR_MS

/** How long after a token was given out it is looked for, though nobody asks: the owner may have closed the page. */
const TOKEN_CHECKS = [
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  ...[1, 2, 3, 4, 5, 6].map((days) => days * DAY_MS),
]

/** When a token that is to be placed is looked for next; null: not any more, or there is none. */
export function tokenCheckAt(
  {
    proof_token: token,
    proof_expires_at: expiresAt,
  }: Pick<ChannelRow, 'proof_token' | 'proof_expires_at'>,
  now: number,
): number | null {
  if (token === null || expiresAt === null) return null
  const issuedAt = expiresAt - TOKEN_LIFETIME_MS
  return TOKEN_CHECKS.map((after) => issuedAt + after).find((at) => at > now) ?? null
}

/** The sooner of two moments, of which either may be none. */
export function sooner(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}

/** Shortens a whole day a little. What is due sooner than that is due when it is. */
export function spread(
  dueAt: number | null,
  now: number,
  randomBytes: (count: number) => Uint8Array,
): number | null {
  if (dueAt === null || dueAt - now < RECHECK_MS) return dueAt
  const share = Buffer.from(randomBytes(4)).readUInt32BE() / 2 ** 32
  return dueAt - Math.floor(share * SPREAD_MS)
}
