import {
  DEFAULT_ID_HEADER,
  isIdHeader,
  type Naming,
  SHORT_NAME_PATTERN,
} from '@countersign/protocol'
import { type IssuerKeys, issuerOrigin, readIssuerKeySet } from '@countersign/sdk'
import type { Policy, PolicyIssuer } from './policy.ts'
import {
  nullable,
  numberBetween,
  type ReadContext,
  type Reader,
  record,
  stringMatching,
} from './readers.ts'

/** The default of `offline.maxStaleSeconds`. */
export const MAX_STALE_SECONDS = 300

/** @returns `svc` of `svc:agent:`; null if it is no such prefix */
export function shortNameOf(didPrefix: string): string | null {
  const [, shortName = ''] = /^(.*):agent:$/.exec(didPrefix) ?? []
  return SHORT_NAME_PATTERN.test(shortName) ? shortName : null
}

/**
 * The mistakes in the list of trusted issuers that concern several entries, or the service of the gateway.
 * @param issuer the public origin of that service
 */
export function trustMistakes(
  { trust = [] }: Partial<Policy>,
  naming: Naming,
  issuer: string,
): string[] {
  const mistakes: string[] = []
  for (const [i, each] of trust.entries()) {
    const place = `policy.trust[${i}]`
    const earlier = trust.findIndex(({ didPrefix }) => didPrefix === each.didPrefix)
    const same = trust.findIndex((other) => other.issuer === each.issuer)
    if (earlier < i) {
      mistakes.push(`${place}.didPrefix is that of policy.trust[${earlier}]: a DID has one issuer`)
    }
    if (same < i) mistakes.push(`${place}.issuer is that of policy.trust[${same}]`)
    if ((each.issuer === issuer) !== (each.didPrefix === naming.didPrefix)) {
      mistakes.push(
        `${place} must name the prefix ${naming.didPrefix} if, and only if, its issuer is ${issuer}, the service: a DID has one issuer`,
      )
    }
  }
  return mistakes
}

const issuerAddress = stringMatching(
  (text) => URL.canParse(text) && isIssuer(text),
  'an https origin such as `https://id.example`',
)

function isIssuer(text: string): boolean {
  try {
    return issuerOrigin(text) === text
  } catch {
    return false
  }
}

const keySet: Reader<IssuerKeys> = Object.assign(
  (value: unknown, place: string, { mistakes }: ReadContext) => {
    const keys = readIssuerKeySet(value)
    if (keys !== null && keys.length > 0) return { keys }
    mistakes.push(`${place} must be ${keySet.accepts}`)
    return undefined
  },
  { accepts: 'a key set with a key, as `/.well-known/jwks.json` of the issuer' },
)

const didPrefix = stringMatching(
  (text) => shortNameOf(text) !== null,
  'what its DIDs begin with, such as `svc:agent:`',
)

const headerName = stringMatching(
  (text) => isIdHeader(text),
  'the name of a header, such as `ServiceID`',
)

/** An entry of `trust`. */
export const issuer: Reader<PolicyIssuer> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const known = ['issuer', 'didPrefix', 'jwks', 'idHeader']
    const {
      idHeader = DEFAULT_ID_HEADER,
      jwks = null,
      ...given
    } = record(value, place, known, context)
    return {
      issuer: issuerAddress(given.issuer, `${place}.issuer`, context),
      didPrefix: didPrefix(given.didPrefix, `${place}.didPrefix`, context),
      jwks: nullable(keySet)(jwks, `${place}.jwks`, context),
      idHeader: headerName(idHeader, `${place}.idHeader`, context),
    } as PolicyIssuer
  },
  { accepts: 'an object with `issuer`, `didPrefix`, `jwks` and `idHeader`' },
)

/** `offline` */
export const offline: Reader<Policy['offline']> = Object.assign(
  (value: unknown, place: string, context: ReadContext) => {
    const { maxStaleSeconds = MAX_STALE_SECONDS } = record(
      value,
      place,
      ['maxStaleSeconds'],
      context,
    )
    const read = numberBetween(10, 86_400)(maxStaleSeconds, `${place}.maxStaleSeconds`, context)
    return { maxStaleSeconds: read } as Policy['offline']
  },
  { accepts: 'an object with `maxStaleSeconds` (10 to 86400)' },
)
