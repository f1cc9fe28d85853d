import {
  CodedError,
  type EnrolmentTest,
  isPlatformToken,
  PlatformTokenError,
  readPlatformToken,
  TOKEN_CHECKS,
} from '@countersign/protocol'
import type { Database } from '../../database/database.ts'
import { PlatformKeysError } from './platform-keys.ts'
import { requireOwnRule } from './rules.ts'
import { type VerifyTokenDeps, verifyToken } from './verify-token.ts'

const PASSED: Readonly<Record<(typeof TOKEN_CHECKS)[number], string>> = {
  format: 'Header and payload are JSON objects.',
  header: 'The algorithm is accepted, and the token brings no key of its own.',
  issuer: 'The issuer is that of the rule.',
  audience: 'The audience is that of the rule.',
  expired: 'The token has not expired.',
  times: 'The token is valid now, and for no longer than the rule allows.',
  'unknown-key': 'The issuer has the key that signed it.',
  signature: 'The signature verifies.',
  claim: 'All claims match.',
}

/**
 * Checks a token as an enrolment would, for the key that its audience names, if any. Nothing is stored.
 * @throws CodedError NOT_FOUND
 */
export async function testToken(
  deps: VerifyTokenDeps & { readonly db: Pick<Database, 'read'> },
  ownerId: number,
  ruleId: string,
  token: string,
): Promise<EnrolmentTest> {
  const rule = await requireOwnRule({ db: deps.db.read }, ownerId, ruleId)
  const claims = claimsOf(token)
  const failure = await verify()
  const failed = failure === null ? TOKEN_CHECKS.length : TOKEN_CHECKS.indexOf(failure.check)
  const checks = TOKEN_CHECKS.map((check, i) => ({
    check,
    ok: i < failed ? true : i === failed ? false : null,
    detail: i < failed ? PASSED[check] : i === failed ? (failure?.message ?? '') : 'Not reached.',
  }))
  return { checks, claims }

  async function verify(): Promise<Pick<PlatformTokenError, 'check' | 'message'> | null> {
    try {
      await verifyToken(deps, rule, token, thumbprintIn(claims))
      return null
    } catch (error) {
      if (error instanceof PlatformTokenError) return error
      const isUnavailable = error instanceof CodedError && error.code === 'UNAVAILABLE'
      if (!isUnavailable && !(error instanceof PlatformKeysError)) throw error
      return { check: 'unknown-key', message: error.message }
    }
  }
}

function claimsOf(token: string): Record<string, unknown> | null {
  try {
    return isPlatformToken(token) ? { ...readPlatformToken(token).claims } : null
  } catch {
    return null
  }
}

/** The thumbprint that the audience ends with, for any key. */
function thumbprintIn(claims: Readonly<Record<string, unknown>> | null): string {
  const [aud] = [claims?.aud].flat()
  return String(aud).split('/').at(-1) ?? ''
}
