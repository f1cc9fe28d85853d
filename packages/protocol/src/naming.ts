import { BASE58_CLASS } from './base58.ts'

/**
 * Everything in the protocol that depends on a deployment's short name or identification header (contract, preamble: `svc`
 * stands for the short name). Other code must not spell them out.
 */
export interface Naming {
  readonly shortName: string
  /** `svc:agent:` */
  readonly didPrefix: string
  /** Contract 2.1. */
  readonly didPattern: RegExp
  /** The JSON field that carries a DID. Typed as the contract spells it; at run time `<shortName>Did`. */
  readonly didField: 'svcDid'
  /** `svc-verify-` */
  readonly tokenPrefix: string
  /** Contract 2.7. */
  readonly tokenPattern: RegExp
  /** `svc-recover-` */
  readonly recoveryTokenPrefix: string
  readonly recoveryTokenPattern: RegExp
  /** `svc-report-`: of what a site gets for its report. */
  readonly reportTokenPrefix: string
  /** `svc-challenge-v1:` */
  readonly challengePrefix: string
  /** The identification header (contract section 5). */
  readonly idHeader: string
  /** The headers in which a gateway passes its decision to the site behind it. */
  readonly forwardedHeaders: Readonly<
    Record<
      | 'decision'
      | 'verified'
      | 'proof'
      | 'did'
      | 'status'
      | 'identityLevel'
      | 'contentDigest'
      | 'directory'
      | 'issuer'
      | 'delegate'
      | 'approval',
      string
    >
  >
  /** The headers in which an agent sends its certificate, its staple and an approval, all covered by the signature of the request. */
  readonly tokenHeaders: Readonly<Record<'certificate' | 'status' | 'approval', string>>
}

export const DEFAULT_SHORT_NAME = 'svc'
export const DEFAULT_ID_HEADER = 'ServiceID'
/** Short names appear in DIDs, URLs, JSON fields and file names. */
export const SHORT_NAME_PATTERN = /^[a-z][a-z0-9]{0,15}$/
/** Letters, digits and hyphens: a subset of RFC 9110 tokens that needs no quoting anywhere. */
const HEADER_NAME = /^[A-Za-z][A-Za-z0-9-]{0,31}$/
/** Headers that servers, proxies or signatures give a meaning: an identification header of that name would replace theirs. */
const STANDARD_HEADER =
  /^(?:(?:accept|access-control|content|if|proxy|sec|x-forwarded)(?:-.*)?|authorization|cache-control|connection|cookie|date|digest|dpop|expect|forwarded|from|host|http2-settings|keep-alive|max-forwards|origin|pragma|prefer|priority|range|referer|repr-digest|retry-after|set-cookie|signature(?:-.*)?|te|trailer|transfer-encoding|upgrade|user-agent|via|want-.*|x-real-ip)$/i

/** Whether a name can be the identification header: of letters, digits and hyphens, and not that of a standard header. */
export function isIdHeader(name: string): boolean {
  return HEADER_NAME.test(name) && !STANDARD_HEADER.test(name)
}

/**
 * Builds the names of one deployment.
 * @throws RangeError if a name does not match its pattern
 */
export function namingFor(
  shortName: string = DEFAULT_SHORT_NAME,
  idHeader: string = DEFAULT_ID_HEADER,
): Naming {
  if (!SHORT_NAME_PATTERN.test(shortName)) throw new RangeError('the short name is not a word')
  if (!isIdHeader(idHeader)) throw new RangeError('the name cannot be an identification header')
  const didPrefix = `${shortName}:agent:`
  const tokenPrefix = `${shortName}-verify-`
  const recoveryTokenPrefix = `${shortName}-recover-`
  return {
    shortName,
    didPrefix,
    didPattern: new RegExp(`^${didPrefix}${BASE58_CLASS}{24}$`),
    didField: `${shortName}Did` as 'svcDid',
    tokenPrefix,
    tokenPattern: new RegExp(`^${tokenPrefix}[0-9a-f]{32}$`),
    recoveryTokenPrefix,
    recoveryTokenPattern: new RegExp(`^${recoveryTokenPrefix}[0-9a-f]{32}$`),
    reportTokenPrefix: `${shortName}-report-`,
    challengePrefix: `${shortName}-challenge-v1:`,
    idHeader,
    forwardedHeaders: {
      decision: `X-${idHeader}-Decision`,
      verified: `X-${idHeader}-Verified`,
      proof: `X-${idHeader}-Proof`,
      did: `X-${idHeader}-DID`,
      status: `X-${idHeader}-Status`,
      identityLevel: `X-${idHeader}-Identity-Level`,
      contentDigest: `X-${idHeader}-Content-Digest`,
      directory: `X-${idHeader}-Directory`,
      issuer: `X-${idHeader}-Issuer`,
      delegate: `X-${idHeader}-Delegate`,
      approval: `X-${idHeader}-Approval`,
    },
    tokenHeaders: tokenHeadersOf(idHeader),
  }
}

/** The headers that carry tokens about an agent, by the identification header. */
export function tokenHeadersOf(idHeader: string): Naming['tokenHeaders'] {
  return {
    certificate: `${idHeader}-Certificate`,
    status: `${idHeader}-Status`,
    approval: `${idHeader}-Approval`,
  }
}

/** The naming of the deployment that a DID (`svc:agent:…`) belongs to, or null if the text does not begin like a DID. */
export function namingOfDid(text: string): Naming | null {
  return namingBefore(':agent:', text)
}

/** The naming of the deployment that issued a claim token (`svc-verify-…`), or null if the text is not like one. */
export function namingOfToken(text: string): Naming | null {
  return namingBefore('-verify-', text)
}

/** The naming of the deployment that a challenge (`svc-challenge-v1:…`) is for, or null if the text is not like one. */
export function namingOfChallenge(text: string): Naming | null {
  return namingBefore('-challenge-v1:', text)
}

function namingBefore(mark: string, text: string): Naming | null {
  const shortName = text.slice(0, Math.max(0, text.indexOf(mark)))
  if (shortName === latest.shortName) return latest
  if (!SHORT_NAME_PATTERN.test(shortName)) return null
  latest = namingFor(shortName)
  return latest
}

/** The one that was built last: a log has millions of DIDs, and all of one deployment. */
let latest = namingFor()
