import {
  CodedError,
  decodeSignature,
  type EnrolRequest,
  type EnrolResponse,
  enrolmentMessage,
  isPlatformToken,
  keyThumbprint,
  PlatformTokenError,
  TOKEN_CHECKS,
} from '@countersign/protocol'
import type { EnrolmentRuleRow } from '../../database/schema/enrolment-rows.ts'
import { toCodedError } from '../../http/errors.ts'
import type { OutcomeCounter } from '../../http/metrics/outcome-counter.ts'
import type { Ed25519Verifier } from '../../secrets/ed25519.ts'
import { assertRecent, decodeNewKey, type KeyOperationDeps } from '../keys/signed-operation.ts'
import { type AdmitDeps, admit, assertOpen, EnrolmentRefusal } from './admit.ts'
import { notifyOfAttention, wasNotified } from './notify-of-rule.ts'
import { PlatformKeysError } from './platform-keys.ts'
import { keysOf } from './read-rule.ts'
import { recordKeysFailure, recordRefusal, ruleById } from './rule-table.ts'
import { type AcceptedToken, type VerifyTokenDeps, verifyToken } from './verify-token.ts'

export interface EnrolDeps
  extends VerifyTokenDeps,
    AdmitDeps,
    Pick<KeyOperationDeps, 'db' | 'readModel'> {
  readonly ed25519: Ed25519Verifier
  /** Enrolments, by the check that refused them. */
  readonly enrolments: OutcomeCounter
}

interface DecodedEnrolment {
  readonly publicKey: Uint8Array
  readonly thumbprint: string
  readonly signature: Uint8Array
  readonly request: EnrolRequest
}

/**
 * Enrols a workload by the token of its platform, or renews its agent. The first check that fails decides; the same request again
 * renews, so that a retry after a lost answer is harmless.
 * @throws CodedError VALIDATION_ERROR; NOT_FOUND or FORBIDDEN (rule); INVALID_SIGNATURE; FORBIDDEN, TOKEN_EXPIRED or UNAVAILABLE
 *   (token); FORBIDDEN, IDENTITY_REQUIRED (owner); CONFLICT (token used with another key, or no seat left); AGENT_NOT_ACTIVE;
 *   KEY_ALREADY_CLAIMED; RATE_LIMITED
 */
export async function enrol(deps: EnrolDeps, request: EnrolRequest): Promise<EnrolResponse> {
  try {
    const answer = await attempt(deps, request)
    deps.enrolments.add(answer.renewed ? 'renewed' : 'created')
    return answer
  } catch (error) {
    const isRefused = error instanceof EnrolmentRefusal
    deps.enrolments.add(isRefused ? error.check : toCodedError(error).code.toLowerCase())
    throw isRefused ? error.coded : error
  }
}

/** @throws EnrolmentRefusal, and errors of `enrol` */
async function attempt(deps: EnrolDeps, request: EnrolRequest): Promise<EnrolResponse> {
  const decoded = decode(deps, request)
  const rule = await openRule(deps, request.rule)
  await assertSigned(deps, decoded)
  const accepted = await acceptToken(deps, rule, decoded)
  const { token } = request
  const { publicKey, thumbprint } = decoded
  const workload = { ruleId: rule.id, token, publicKey, thumbprint, evidence: request, accepted }
  try {
    return await deps.db.write((tx) => admit(deps, tx, workload))
  } catch (error) {
    if (error instanceof EnrolmentRefusal) await recordRefused(deps, rule, error)
    throw error
  }
}

function decode(deps: EnrolDeps, request: EnrolRequest): DecodedEnrolment {
  const publicKey = decodeNewKey(deps, 'publicKey', request.publicKey)
  const signature = decodeSignature(request.signature)
  if (signature === null) throw new CodedError('VALIDATION_ERROR', 'The signature is malformed.')
  assertRecent(request.issuedAt, deps.now())
  if (!isPlatformToken(request.token)) {
    throw new CodedError(
      'VALIDATION_ERROR',
      'token is no JWT in compact form: three parts of canonical base64url, at most 8,192 characters.',
    )
  }
  return { publicKey, thumbprint: keyThumbprint(publicKey), signature, request }
}

/** @throws CodedError NOT_FOUND, FORBIDDEN */
async function openRule(
  { db, now }: Pick<EnrolDeps, 'db' | 'now'>,
  id: string,
): Promise<EnrolmentRuleRow> {
  return assertOpen(await ruleById(db.read, id), now())
}

/** @throws CodedError INVALID_SIGNATURE */
async function assertSigned(
  { ed25519, site }: EnrolDeps,
  { publicKey, signature, request }: DecodedEnrolment,
): Promise<void> {
  const { rule, token, issuedAt } = request
  const signed = { service: site.baseUrl, rule, token, publicKey, issuedAt }
  if (await ed25519.verify(publicKey, enrolmentMessage(site.naming, signed), signature)) return
  throw new CodedError(
    'INVALID_SIGNATURE',
    `The signature is not one of publicKey over this enrolment at ${site.baseUrl}.`,
  )
}

/** @throws EnrolmentRefusal; CodedError UNAVAILABLE */
async function acceptToken(
  deps: EnrolDeps,
  rule: EnrolmentRuleRow,
  { request, thumbprint }: DecodedEnrolment,
): Promise<AcceptedToken> {
  try {
    return await verifyToken(deps, rule, request.token, thumbprint)
  } catch (error) {
    const refusal = refusalOf(rule, error)
    if (refusal === null) throw error
    if (error instanceof PlatformKeysError && rule.keys_failed_at === null) {
      await deps.db.write((tx) => recordKeysFailure(tx, rule.id, error.message, deps.now()))
    }
    await recordRefused(deps, rule, refusal)
    throw refusal
  }
}

function refusalOf(rule: EnrolmentRuleRow, error: unknown): EnrolmentRefusal | null {
  if (error instanceof PlatformKeysError) {
    const options = { cause: error, retryAfterSeconds: 60 }
    const message = 'The keys of the issuer cannot be read now.'
    const coded = new CodedError('UNAVAILABLE', message, options)
    return new EnrolmentRefusal('keys-unreadable', coded, 'keys-unreadable')
  }
  if (!(error instanceof PlatformTokenError)) return null
  const { check, message } = error
  if (check === 'expired') {
    return new EnrolmentRefusal(check, new CodedError('TOKEN_EXPIRED', message))
  }
  const isPasted = keysOf(rule).jwks !== undefined
  return new EnrolmentRefusal(
    check,
    new CodedError('FORBIDDEN', `${message} (${check})`),
    check === 'unknown-key' && isPasted ? 'unknown-key' : null,
  )
}

/** How often a refusal is recorded, so that a broken workload or a stranger costs no writes. */
const REFUSAL_MS = 60_000

/** Records at the rule what its owner should know. Of tokens that the issuer did not sign, only that its keys are missing. */
async function recordRefused(
  { db, now }: Pick<EnrolDeps, 'db' | 'now'>,
  rule: EnrolmentRuleRow,
  { check, attention }: EnrolmentRefusal,
): Promise<void> {
  const at = now()
  const isSigned = check === 'claim' || !TOKEN_CHECKS.some((each) => each === check)
  const isDue = rule.refused_at === null || at - rule.refused_at > REFUSAL_MS
  const isShown = isSigned && check !== 'keys-unreadable' && isDue
  const isNews = attention !== null && !(await wasNotified(db.read, rule, attention, at))
  if (!isShown && !isNews) return
  await db.write(async (tx) => {
    if (isShown) await recordRefusal(tx, rule.id, check, at)
    if (isNews) await notifyOfAttention(tx, rule, attention, at)
  })
}
