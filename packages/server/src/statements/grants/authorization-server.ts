import { CodedError, type GrantRequest, isLoopback } from '@countersign/protocol'
import { parseJson } from '../../http/outbound/bounded-fetch.ts'
import type { Sender } from '../../http/outbound/open-sender.ts'
import { type Page, ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'

/**
 * Checks that the metadata of an authorization server name exactly the issuer and the token endpoint of a request. Without this
 * check, an agent that was told a wrong token endpoint would hand the grant to an attacker (mix-up).
 * @throws CodedError VALIDATION_ERROR if they do not, or the service may not fetch them; UNAVAILABLE if they cannot be read now
 */
export async function assertAuthorizationServer(
  sender: Pick<Sender, 'check' | 'get'>,
  { audience, tokenEndpoint, resource }: GrantRequest,
): Promise<void> {
  const issuer = requireUrl(audience, 'audience')
  if (audience.includes('?')) throw invalid('audience', 'has no query')
  requireUrl(tokenEndpoint, 'tokenEndpoint')
  if (resource !== undefined) requireResource(resource)
  await sender.check(issuer).catch(rethrow('VALIDATION_ERROR', audience))
  const metadata = await readMetadata(sender, issuer, audience)
  // What they name instead is not said, so that nobody can read another site through this service.
  if (metadata?.issuer !== audience) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `The metadata of ${audience} do not name it as their issuer. Use the issuer exactly as the metadata have it.`,
    )
  }
  if (metadata.token_endpoint !== tokenEndpoint) {
    throw new CodedError(
      'VALIDATION_ERROR',
      `The metadata of ${audience} name another token endpoint. Do not send anything to ${tokenEndpoint}.`,
    )
  }
}

/** Those of RFC 8414, or, if there are none, of OpenID Connect Discovery. */
async function readMetadata(
  sender: Pick<Sender, 'get'>,
  { origin, pathname }: URL,
  audience: string,
): Promise<{ readonly issuer?: unknown; readonly token_endpoint?: unknown } | undefined> {
  const path = pathname.replace(/\/$/, '')
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ]
  for (const url of urls) {
    const get = sender.get(new URL(url), 'application/json')
    const page: Page = await get.catch(rethrow('UNAVAILABLE', audience))
    if (page.status === 404) continue
    if (page.status === 200) {
      const metadata = parseJson(page.text)
      return typeof metadata === 'object' && metadata !== null ? metadata : undefined
    }
    const problem =
      page.status >= 300 && page.status < 400
        ? 'are answered with a redirect, which is not followed'
        : `are answered with the status ${page.status}`
    throw new CodedError('VALIDATION_ERROR', `The metadata of ${audience} ${problem}.`)
  }
  throw new CodedError('VALIDATION_ERROR', `${audience} has no authorization server metadata.`)
}

/** @throws CodedError VALIDATION_ERROR unless it is an https URL in its normalized spelling, without a fragment and credentials */
function requireUrl(text: string, member: string): URL {
  const url = URL.parse(text)
  const isNormalized = url !== null && (url.href === text || url.href === `${text}/`)
  if (!isNormalized || text.includes('#') || url.username !== '' || url.password !== '') {
    throw invalid(member, 'is a URL in its normalized spelling, without a fragment')
  }
  // Plain http on loopback is for development; the sender refuses it elsewhere.
  const isPlainLoopback = url.protocol === 'http:' && isLoopback(url.hostname)
  if (url.protocol !== 'https:' && !isPlainLoopback) throw invalid(member, 'begins with https://')
  return url
}

/** @throws CodedError VALIDATION_ERROR unless it is an absolute URI without a fragment (RFC 8707 section 2) */
function requireResource(text: string): void {
  if (URL.canParse(text) && !text.includes('#') && text.isWellFormed()) return
  throw invalid('resource', 'is an absolute URI without a fragment')
}

function invalid(member: string, rule: string): CodedError {
  return new CodedError('VALIDATION_ERROR', `${member} ${rule}.`)
}

function rethrow(code: 'VALIDATION_ERROR' | 'UNAVAILABLE', audience: string) {
  return (error: unknown): never => {
    if (!(error instanceof Unreachable || error instanceof ProofAbsent)) throw error
    const retry = code === 'UNAVAILABLE' ? { retryAfterSeconds: 5 } : {}
    const message = `The metadata of ${audience} cannot be read: ${error.message}`
    throw new CodedError(code, message, retry)
  }
}
