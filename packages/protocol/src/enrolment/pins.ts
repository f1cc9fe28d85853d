import { type Match, type Mismatch, valueAt } from './match.ts'

/** The part of a rule that says whose tokens it accepts. */
export interface AcceptedTokens {
  /** Null: any issuer of the trust domain. */
  readonly issuer: string | null
  /** A SPIFFE trust domain, or null. */
  readonly trustDomain: string | null
  readonly match: Match
}

const GITHUB = 'https://token.actions.githubusercontent.com'
const GITLAB = 'https://gitlab.com'
const GOOGLE = 'https://accounts.google.com'

/** Events of GitHub whose workflows run with the repository's rights for code or input of others. */
const EVENTS_OF_OTHERS = ['pull_request_target', 'workflow_run']

/**
 * What the `match` of a rule must pin, since the issuer signs tokens for strangers too and names change hands.
 * @returns a sentence; null if nothing is missing
 */
export function missingPin({ issuer, trustDomain, match }: AcceptedTokens): string | null {
  const has = (pointer: string) => Object.hasOwn(match, pointer)
  const isTrue = (pointer: string) => match[pointer] === 'true'
  if (issuer === null && trustDomain === null) return 'A rule needs an issuer, or a trustDomain.'
  const spiffe = trustDomain === null ? null : spiffePin(trustDomain, match['/sub'])
  if (spiffe !== null || issuer === null) return spiffe
  const site = issuer.replace(/\/$/, '')
  if (site === GITHUB || site.startsWith(`${GITHUB}/`)) {
    if (!has('/repository_id') && !has('/repository_owner_id')) {
      return 'Tokens of GitHub need /repository_id or /repository_owner_id in match: names of repositories change hands.'
    }
    if (!['/environment', '/ref', '/workflow_ref', '/job_workflow_ref'].some(has)) {
      return 'Tokens of GitHub need /environment, /ref, /workflow_ref or /job_workflow_ref in match, or any branch could enrol.'
    }
  }
  if (site === GITLAB) {
    if (!has('/project_id') && !has('/namespace_id')) {
      return 'Tokens of gitlab.com need /project_id or /namespace_id in match: paths of projects change hands.'
    }
    if (!isTrue('/ref_protected') && !isTrue('/environment_protected')) {
      return 'Tokens of gitlab.com need /ref_protected or /environment_protected with "true" in match, or any branch could enrol.'
    }
  }
  if (site === GOOGLE && !has('/sub') && !has('/google/compute_engine/project_id')) {
    return 'Tokens of Google need /sub, the number of the account, or /google/compute_engine/project_id in match: addresses change hands.'
  }
  return null
}

function spiffePin(trustDomain: string, sub: Match[string] | undefined): string | null {
  const prefix = `spiffe://${trustDomain}/`
  const values = Array.isArray(sub) ? sub : [sub]
  const isPinned = values.every(
    (each) => typeof each === 'string' && each.startsWith(prefix) && each.length > prefix.length,
  )
  return isPinned ? null : `A trustDomain needs /sub in match, and each value begins ${prefix}.`
}

/**
 * What a token itself shows that a rule must pin, which nobody can know before: that it comes from a pod, or from an event that
 * strangers cause.
 * @returns the claim that refuses the token; null if none does
 */
export function unpinnedClaim({ issuer, match }: AcceptedTokens, claims: object): Mismatch | null {
  const isGitHub = issuer?.startsWith(GITHUB) ?? false
  const event = valueAt(claims, '/event_name')
  if (
    isGitHub &&
    EVENTS_OF_OTHERS.includes(String(event)) &&
    !Object.hasOwn(match, '/event_name')
  ) {
    return { pointer: '/event_name', value: event }
  }
  if (!Object.hasOwn(claims, 'kubernetes.io')) return null
  // A token without a pod is stored in a Secret, and never ends.
  const pod = valueAt(claims, '/kubernetes.io/pod/uid')
  if (typeof pod !== 'string' || pod === '')
    return { pointer: '/kubernetes.io/pod/uid', value: pod }
  return Object.hasOwn(match, '/sub') ? null : { pointer: '/sub', value: valueAt(claims, '/sub') }
}
