import {
  type EnrolmentKeys,
  type ExpectedPlatformToken,
  firstMismatch,
  type Match,
  type Mismatch,
  PlatformTokenError,
  unpinnedClaim,
  valueAt,
} from '@countersign/protocol'
import type { Site } from '../../base/site.ts'
import type { EnrolmentRuleRow } from '../../database/schema/enrolment-rows.ts'

/** A rule that has admitted nobody for so long admits nobody any more: the issuer's domain may have changed hands. */
export const FORGOTTEN_MS = 30 * 86_400_000

/** The audience of tokens for a rule: its own, so that no other rule or site can use them. */
export function audienceOf({ baseUrl }: Pick<Site, 'baseUrl'>, ruleId: string): string {
  return `${baseUrl}/enrol/${ruleId}`
}

export function keysOf({ keys }: Pick<EnrolmentRuleRow, 'keys'>): EnrolmentKeys {
  return JSON.parse(keys) as EnrolmentKeys
}

export function matchOf({ match }: Pick<EnrolmentRuleRow, 'match'>): Match {
  return JSON.parse(match) as Match
}

export function expectedOf(
  site: Pick<Site, 'baseUrl'>,
  rule: EnrolmentRuleRow,
): ExpectedPlatformToken {
  return {
    issuer: rule.issuer,
    audience: audienceOf(site, rule.id),
    binding: rule.binding,
    maxTokenSeconds: rule.max_token_seconds,
    isSpiffe: rule.trust_domain !== null,
  }
}

type Claims = Readonly<Record<string, unknown>>

/**
 * Checks the claims of a verified token against a rule.
 * @returns the label of the agent
 * @throws PlatformTokenError `claim`, which says what the token has and never what the rule wants
 */
export function checkClaims(rule: EnrolmentRuleRow, claims: Claims): string {
  const match = matchOf(rule)
  const accepted = { issuer: rule.issuer, trustDomain: rule.trust_domain, match }
  const mismatch = unpinnedClaim(accepted, claims) ?? firstMismatch(match, claims)
  if (mismatch !== null) throw claimError(mismatch)
  return rule.agent_label ?? labelOf(rule.agent_label_claim as string, claims)
}

function labelOf(pointer: string, claims: Claims): string {
  const value = valueAt(claims, pointer)
  if (typeof value === 'string' && LABEL.test(value)) return value
  throw claimError({ pointer, value })
}

/** As `AGENT_ID_PATTERN`, of a claim. */
const LABEL = /^[^\p{Cc}\p{Cs}]{1,128}$/u
const SHOWN_LENGTH = 200

function claimError({ pointer, value }: Mismatch): PlatformTokenError {
  const shown = value === undefined ? 'nothing' : JSON.stringify(value).slice(0, SHOWN_LENGTH)
  return new PlatformTokenError(
    'claim',
    `The rule does not accept this token: its claim ${pointer} is ${shown}.`,
  )
}

const MAX_STORED_BYTES = 2048

/** What is stored of a token: issuer, subject and what was matched. */
export function storedClaims(rule: EnrolmentRuleRow, claims: Claims): string {
  const pointers = ['/iss', '/sub', ...Object.keys(matchOf(rule))]
  const entries = new Map<string, string | boolean>()
  for (const pointer of pointers) {
    const value = valueAt(claims, pointer)
    if (typeof value === 'string' || typeof value === 'boolean')
      entries.set(pointer.slice(1), value)
  }
  for (;;) {
    const text = JSON.stringify(Object.fromEntries(entries))
    if (Buffer.byteLength(text) <= MAX_STORED_BYTES) return text
    entries.delete([...entries.keys()].at(-1) as string)
  }
}
