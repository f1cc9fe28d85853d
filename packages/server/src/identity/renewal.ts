import { strongestVerification, type VerificationFact } from '@countersign/protocol'

/** Renewal is asked for this long before the end, or earlier in proportion where a verification is short. */
const RENEWAL_MS = 30 * 86_400_000
const RENEWAL_SHARE = 0.2

/** From when an owner is asked to renew a verification, in milliseconds since 1970; null where it has no end. */
export function renewFrom({ verifiedAt, expiresAt }: VerificationFact): number | null {
  if (expiresAt === null) return null
  const ahead = Math.min(RENEWAL_MS, (expiresAt - verifiedAt) * RENEWAL_SHARE)
  return expiresAt - Math.floor(ahead)
}

/**
 * The verification that an owner is to be told of: the strongest, once its end is near; where none counts any more,
 * the one that ended last.
 * @returns null while nothing is to be done
 */
export function dueRenewal(
  verifications: readonly VerificationFact[],
  now: number,
): VerificationFact | null {
  const strongest = strongestVerification(verifications, now)
  if (strongest === null) return endedLast(verifications)
  const from = renewFrom(strongest)
  return from !== null && from <= now ? strongest : null
}

function endedLast(verifications: readonly VerificationFact[]): VerificationFact | null {
  return verifications.reduce<VerificationFact | null>(
    (last, each) => (last === null || ends(each) > ends(last) ? each : last),
    null,
  )
}

function ends({ expiresAt }: VerificationFact): number {
  return expiresAt ?? Number.POSITIVE_INFINITY
}
