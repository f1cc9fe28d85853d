import {
  AGENT_ID_PATTERN,
  DESCRIPTION_PATTERN,
  ENROLMENT_DEFAULTS,
  type EnrolmentKeys,
  type EnrolmentRule,
  type EnrolmentRulePatch,
  type Match,
  type MatchValue,
  matchProblem,
  missingPin,
  type NewEnrolmentRule,
  pointerProblem,
} from '@countersign/protocol'
import { descriptionImitation, displayNameError } from '../../components/validate-names.ts'

/** A claim that the token must have, as the form shows it. */
export interface ClaimDraft {
  /** Distinguishes the rows of the form. */
  readonly row: number
  readonly pointer: string
  /** `text`: one of `values`. Otherwise the boolean of this name. */
  readonly type: 'text' | 'true' | 'false'
  /** One a line. */
  readonly values: string
}

/** What the form of a rule holds. Numbers and JSON are text until it is sent. */
export interface RuleDraft {
  readonly name: string
  readonly issuer: string
  readonly trustDomain: string
  readonly keys: 'discovery' | 'jwksUri' | 'jwks'
  readonly jwksUri: string
  readonly jwks: string
  readonly match: readonly ClaimDraft[]
  readonly binding: 'key' | 'token'
  readonly labelFrom: 'text' | 'claim'
  readonly agentId: string
  readonly agentIdClaim: string
  readonly maxLive: string
  readonly unseenAfterHours: string
  readonly maxTokenMinutes: string
  readonly displayName: string
  readonly description: string
}

const HOUR = 3600
const MINUTE = 60

export const EMPTY_DRAFT: RuleDraft = {
  name: '',
  issuer: '',
  trustDomain: '',
  keys: 'discovery',
  jwksUri: '',
  jwks: '',
  match: [{ row: 0, pointer: '/sub', type: 'text', values: '' }],
  binding: 'token',
  labelFrom: 'text',
  agentId: '',
  agentIdClaim: '',
  maxLive: String(ENROLMENT_DEFAULTS.maxLive),
  unseenAfterHours: String(ENROLMENT_DEFAULTS.unseenAfterSeconds / HOUR),
  maxTokenMinutes: String(ENROLMENT_DEFAULTS.maxTokenSeconds / MINUTE),
  displayName: '',
  description: '',
}

/** The draft for changing a rule. */
export function draftOf(rule: EnrolmentRule): RuleDraft {
  const { keys, match, profile } = rule
  return {
    name: rule.name,
    issuer: rule.issuer ?? '',
    trustDomain: rule.trustDomain ?? '',
    keys: keys.jwksUri !== undefined ? 'jwksUri' : keys.jwks !== undefined ? 'jwks' : 'discovery',
    jwksUri: keys.jwksUri ?? '',
    jwks: keys.jwks === undefined ? '' : JSON.stringify(keys.jwks, null, 2),
    match: Object.entries(match as Match).map(([pointer, value], row) => ({
      row,
      pointer,
      type: typeof value === 'boolean' ? (value ? 'true' : 'false') : 'text',
      values: typeof value === 'boolean' ? '' : [value].flat().join('\n'),
    })),
    binding: rule.binding,
    labelFrom: rule.agentIdClaim === null ? 'text' : 'claim',
    agentId: rule.agentId ?? '',
    agentIdClaim: rule.agentIdClaim ?? '',
    maxLive: String(rule.maxLive),
    unseenAfterHours: String(rule.unseenAfterSeconds / HOUR),
    maxTokenMinutes: String(rule.maxTokenSeconds / MINUTE),
    displayName: profile.displayName ?? '',
    description: profile.description ?? '',
  }
}

/** The body that creates a rule. @param draft without `draftErrors` */
export function newRuleOf(draft: RuleDraft): NewEnrolmentRule {
  const { issuer, trustDomain, binding, labelFrom, agentId, agentIdClaim } = draft
  return {
    ...changesOf(draft),
    issuer: issuer.trim() || null,
    trustDomain: trustDomain.trim() || null,
    binding,
    ...(labelFrom === 'text' ? { agentId: agentId.trim() } : { agentIdClaim: agentIdClaim.trim() }),
  }
}

/** The members that can change later. @param draft without `draftErrors` */
export function changesOf(draft: RuleDraft): Required<Omit<EnrolmentRulePatch, 'responsible'>> {
  return {
    name: draft.name.trim(),
    keys: keysOf(draft),
    match: matchOf(draft) as NewEnrolmentRule['match'],
    maxLive: Number(draft.maxLive),
    unseenAfterSeconds: Math.round(Number(draft.unseenAfterHours) * HOUR),
    maxTokenSeconds: Math.round(Number(draft.maxTokenMinutes) * MINUTE),
    profile: {
      displayName: draft.displayName.trim() || null,
      description: draft.description.trim() || null,
    },
  }
}

function keysOf({ keys, jwksUri, jwks }: RuleDraft): EnrolmentKeys {
  if (keys === 'discovery') return { discovery: true }
  if (keys === 'jwksUri') return { jwksUri: jwksUri.trim() }
  return { jwks: JSON.parse(jwks) }
}

/** The values of a claim, without empty lines. */
function valuesOf({ values }: ClaimDraft): string[] {
  return values
    .split('\n')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

function matchOf({ match }: RuleDraft): Match {
  return Object.fromEntries(match.map((each) => [each.pointer.trim(), claimValue(each)]))
}

function claimValue(claim: ClaimDraft): MatchValue {
  if (claim.type !== 'text') return claim.type === 'true'
  const values = valuesOf(claim)
  const [only = ''] = values
  return values.length > 1 ? values : only
}

/** What is wrong with a draft, as sentences by field. */
export interface DraftErrors {
  readonly fields: { readonly [key in keyof RuleDraft]?: string }
  /** By `row`. */
  readonly claims: ReadonlyMap<number, { readonly pointer?: string; readonly values?: string }>
}

/** @returns null if nothing is wrong; the service decides in the end, and reads the keys */
export function draftErrors(draft: RuleDraft): DraftErrors | null {
  const claims = new Map<number, { pointer?: string; values?: string }>()
  draft.match.forEach((claim, at) => {
    const error = claimError(claim, draft.match.slice(0, at))
    if (error !== null) claims.set(claim.row, error)
  })
  const fields = Object.entries({
    name: displayNameError(draft.name),
    issuer: issuerError(draft),
    trustDomain: trustDomainError(draft),
    jwksUri: draft.keys === 'jwksUri' ? urlError(draft.jwksUri) : null,
    jwks: draft.keys === 'jwks' ? jwksError(draft.jwks) : null,
    keys: keysError(draft),
    match: claims.size > 0 ? null : pinError(draft),
    agentId: labelError(draft),
    agentIdClaim: labelClaimError(draft),
    maxLive: numberError(draft.maxLive, 1, 1000, true),
    unseenAfterHours: numberError(draft.unseenAfterHours, 1, 720),
    maxTokenMinutes: numberError(draft.maxTokenMinutes, 5, 1440),
    displayName: draft.displayName.trim() === '' ? null : displayNameError(draft.displayName),
    description: descriptionError(draft.description),
  }).filter(([, error]) => error !== null)
  if (fields.length === 0 && claims.size === 0) return null
  return { fields: Object.fromEntries(fields), claims }
}

function issuerError({ issuer, trustDomain }: RuleDraft): string | null {
  if (issuer.trim() !== '') return urlError(issuer)
  return trustDomain.trim() === '' ? 'Enter the issuer of the tokens.' : null
}

function trustDomainError({ trustDomain }: RuleDraft): string | null {
  const isValid = trustDomain.trim() === '' || /^[a-z0-9._-]{1,255}$/.test(trustDomain.trim())
  return isValid ? null : 'Enter the name alone, such as example.org, in lower case.'
}

function urlError(text: string): string | null {
  return URL.canParse(text.trim()) ? null : 'Enter a URL that begins https://.'
}

function keysError({ keys, issuer }: RuleDraft): string | null {
  return keys === 'discovery' && issuer.trim() === ''
    ? 'Discovery needs an issuer. Enter one, or choose another source of the keys.'
    : null
}

function jwksError(text: string): string | null {
  const problem = 'Paste a JWK Set: JSON with a member “keys”.'
  try {
    return Array.isArray(JSON.parse(text)?.keys) ? null : problem
  } catch {
    return problem
  }
}

function claimError(claim: ClaimDraft, before: readonly ClaimDraft[]) {
  const { type } = claim
  const pointer = claim.pointer.trim()
  if (before.some((each) => each.pointer.trim() === pointer)) {
    return { pointer: 'This claim is listed twice. Enter all its values in one row.' }
  }
  const problem = pointerProblem(pointer)
  if (problem !== null) return { pointer: pointer === '' ? 'Enter a claim.' : `It ${problem}` }
  if (type === 'text' && valuesOf(claim).length === 0) return { values: 'Enter a value.' }
  const ofValue = matchProblem({ [pointer]: claimValue(claim) })
  return ofValue === null ? null : { values: ofValue }
}

function pinError(draft: RuleDraft): string | null {
  const match = matchOf(draft)
  const issuer = draft.issuer.trim() || null
  const trustDomain = draft.trustDomain.trim() || null
  const isEmpty = issuer === null && trustDomain === null
  return matchProblem(match) ?? (isEmpty ? null : missingPin({ issuer, trustDomain, match }))
}

function labelError({ labelFrom, agentId }: RuleDraft): string | null {
  if (labelFrom === 'claim' || AGENT_ID_PATTERN.test(agentId.trim())) return null
  return agentId.trim() === '' ? 'Enter a label.' : 'Use at most 128 characters.'
}

function labelClaimError({ labelFrom, agentIdClaim }: RuleDraft): string | null {
  if (labelFrom === 'text') return null
  const pointer = agentIdClaim.trim()
  if (pointer === '') return 'Enter a claim, such as /kubernetes.io/pod/name.'
  const problem = pointerProblem(pointer)
  return problem && `It ${problem}`
}

function numberError(text: string, least: number, most: number, isWhole = false): string | null {
  const number = Number(text)
  const isValid = text.trim() !== '' && number >= least && number <= most
  if (isValid && (!isWhole || Number.isInteger(number))) return null
  return `Enter a number from ${least} to ${most.toLocaleString('en')}.`
}

function descriptionError(text: string): string | null {
  if (text.trim() === '') return null
  return DESCRIPTION_PATTERN.test(text) ? descriptionImitation(text) : 'Use at most 160 characters.'
}
