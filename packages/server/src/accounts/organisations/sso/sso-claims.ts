import {
  assertHonestName,
  DISPLAY_NAME_PATTERN,
  includesRole,
  type SsoRole,
} from '@countersign/protocol'
import type { SsoConnectionRow } from '../../../database/schema/organisation-rows.ts'
import { CallbackRefusal } from '../../owners/callback-failure.ts'
import { RECENT_MS } from '../../owners/session.ts'

/** The claims of a verified ID token. */
export type Claims = Readonly<Record<string, unknown>>

/** Groups in one ID token. Identity providers stop at some hundreds. */
const MAX_GROUPS = 1000
const MAX_NAME = 64
/** The name of members whose identity provider sends none that can be shown. */
const NAMELESS = 'Member'

/**
 * The highest role that a connection gives to the groups of a person. Ids of groups match exactly, whatever they mean elsewhere.
 * @returns null if no group has a role
 * @throws CallbackRefusal `too-many-groups`, `invalid-response`
 */
export function roleFromGroups(
  { group_claim, role_map }: Pick<SsoConnectionRow, 'group_claim' | 'role_map'>,
  claims: Claims,
): SsoRole | null {
  const roles = new Map(Object.entries(JSON.parse(role_map) as Record<string, SsoRole>))
  let highest: SsoRole | null = null
  for (const group of groupsOf(claims, group_claim)) {
    const role = roles.get(group)
    if (role !== undefined && (highest === null || includesRole(role, highest))) highest = role
  }
  return highest
}

function groupsOf(claims: Claims, name: string): readonly string[] {
  // Entra ID sends a reference instead of more than 200 groups (OpenID Connect Core, section 5.6.2).
  const { _claim_names: elsewhere } = claims
  if (typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, name)) {
    throw tooManyGroups()
  }
  const groups = [claims[name] ?? []].flat()
  if (groups.length > MAX_GROUPS) throw tooManyGroups()
  if (groups.every((group) => typeof group === 'string')) return groups
  throw invalid('The groups in the response of the identity provider are not texts.')
}

function tooManyGroups(): CallbackRefusal {
  return new CallbackRefusal(
    'too-many-groups',
    'The identity provider does not send all your groups, because you have too many.',
  )
}

function invalid(message: string): CallbackRefusal {
  return new CallbackRefusal('invalid-response', message)
}

/**
 * When the person authenticated, by `auth_time`. Without it nobody knows, so the sign-in does not count as a recent one.
 * @param now milliseconds since the Unix epoch
 * @returns milliseconds since the Unix epoch
 * @throws CallbackRefusal `invalid-response`
 */
export function authenticatedAt({ auth_time: seconds }: Claims, now: number): number {
  if (seconds === undefined) return now - RECENT_MS
  if (Number.isSafeInteger(seconds) && (seconds as number) >= 0) {
    return Math.min((seconds as number) * 1000, now)
  }
  throw invalid('The time in the response of the identity provider is not valid.')
}

/** The name that the identity provider gives a person, if it may be shown as a display name. */
export function nameOf({ name }: Claims, reserved: readonly string[]): string {
  if (typeof name !== 'string' || !name.isWellFormed()) return NAMELESS
  const cut = [...name.replaceAll(/\s+/gu, ' ').trim()].slice(0, MAX_NAME).join('')
  try {
    assertHonestName('A display name', cut, reserved)
  } catch {
    return NAMELESS
  }
  return DISPLAY_NAME_PATTERN.test(cut) ? cut : NAMELESS
}
