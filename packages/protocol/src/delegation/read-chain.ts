import { type ParsedJws, parseJws } from '../certificates/jws.ts'
import { TOKEN_TYPES } from '../certificates/verify-token.ts'
import type {
  Delegation,
  DelegationFault,
  DelegationHop,
  DelegationPolicy,
} from '../http-signatures/signed-request-types.ts'
import { keyEncodingFault, keyThumbprint, parseThumbprint } from '../public-key.ts'
import {
  bindingOf,
  MAX_DELEGATION_SECONDS,
  MAX_HOPS,
  type ReadHop,
  readHop,
  splitChain,
} from './format.ts'
import { coversLimits } from './limits.ts'

/** The certificate at the root of a chain, as it says. */
export interface ChainRoot {
  readonly did: string
  /** The agent's key: 32 bytes. */
  readonly publicKey: Uint8Array
  /** Its JWK thumbprint. */
  readonly keyid: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** How many hops the owner allows: 0 to 3. */
  readonly maxDepth: number
}

/** A hop with its key. */
export interface ChainHop extends DelegationHop {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
}

/** What a chain says. */
export interface Chain {
  readonly root: ChainRoot
  /** 1 to 3, from the agent to the delegate. */
  readonly hops: readonly ChainHop[]
}

/** A chain whose form is right, and what its signatures are over. */
export interface SignedChain extends Chain {
  readonly certificate: string
  /** One for each hop. */
  readonly signed: readonly Pick<ReadHop, 'signingInput' | 'signature' | 'binding'>[]
  readonly hopTokens: readonly string[]
}

/** A chain that has another form. `hops`: those that could be read. */
export interface UnreadableChain {
  readonly fault: 'format'
  readonly hops: readonly ChainHop[]
}

/** Step b: reads a chain. Nothing is verified. */
export function readChain(text: string): SignedChain | UnreadableChain {
  const tokens = splitChain(text)
  const root = tokens === null ? null : readRoot(tokens.certificate)
  const read: ReadHop[] = []
  for (const token of tokens?.hops ?? []) {
    const hop = readHop(token)
    if (hop === null) break
    read.push(hop)
  }
  const hops = read.map(hopOf)
  if (tokens === null || root === null || hops.length < tokens.hops.length) {
    return { fault: 'format', hops }
  }
  return { root, hops, certificate: tokens.certificate, signed: read, hopTokens: tokens.hops }
}

function hopOf({ publicKey, keyid, iat, exp, maxDepth, limits }: ReadHop): ChainHop {
  return { publicKey, keyid, issuedAt: iat * 1000, expiresAt: exp * 1000, maxDepth, limits }
}

/** The claims of a certificate that chains depend on. Whether it is one, nobody knows yet. */
export function readRoot(certificate: string): ChainRoot | null {
  let token: ParsedJws
  try {
    token = parseJws(certificate)
  } catch {
    return null
  }
  const { sub: did, exp, cnf, maxDelegationDepth: maxDepth = 0 } = token.payload
  const jwk = (cnf as { readonly jwk?: Readonly<Record<string, unknown>> } | null)?.jwk
  const isKey = jwk?.kty === 'OKP' && jwk.crv === 'Ed25519' && typeof jwk.x === 'string'
  const publicKey = isKey ? parseThumbprint(jwk.x as string) : null
  if (token.header.typ !== TOKEN_TYPES.certificate || publicKey === null) return null
  if (typeof did !== 'string' || !Number.isSafeInteger(exp)) return null
  const depths: readonly unknown[] = Array.from({ length: MAX_HOPS + 1 }, (_, each) => each)
  if (!depths.includes(maxDepth)) return null
  return {
    did,
    publicKey,
    keyid: keyThumbprint(publicKey),
    expiresAt: (exp as number) * 1000,
    maxDepth: maxDepth as number,
  }
}

/** What a request says that its chain has to fit. */
export interface ChainUse {
  /** The key that signed the request, by its JWK thumbprint. */
  readonly keyid: string
  /** In milliseconds since 1970. */
  readonly now: number
}

/** How far ahead of this clock a hop may have been issued, in milliseconds. */
const MAX_AHEAD_MS = 60_000

/** Steps c to f, without the binding of a hop to the token before it. @returns null: none */
export function chainFault(
  { root, hops }: Chain,
  { keyid, now }: ChainUse,
): DelegationFault | null {
  return (
    keysFault(root, hops, keyid) ??
    depthFault(root, hops) ??
    timesFault(root, hops, now) ??
    (hops.every(
      (each, at) => at === 0 || coversLimits((hops[at - 1] as ChainHop).limits, each.limits),
    )
      ? null
      : 'widened')
  )
}

function keysFault(root: ChainRoot, hops: readonly ChainHop[], keyid: string): 'key' | null {
  const keys = [root, ...hops]
  const differ = new Set(keys.map((each) => each.keyid)).size === keys.length
  const isFaulty = keys.some(({ publicKey }) => keyEncodingFault(publicKey) !== null)
  return differ && !isFaulty && hops.at(-1)?.keyid === keyid ? null : 'key'
}

function depthFault(root: ChainRoot, hops: readonly ChainHop[]): 'depth' | null {
  const isBelow = ({ maxDepth }: ChainHop, at: number) =>
    maxDepth < (at === 0 ? root : (hops[at - 1] as ChainHop)).maxDepth
  return hops.every(isBelow) ? null : 'depth'
}

function timesFault(root: ChainRoot, hops: readonly ChainHop[], now: number): 'times' | null {
  const isInTime = ({ issuedAt, expiresAt }: ChainHop, at: number) =>
    issuedAt < expiresAt &&
    expiresAt <= issuedAt + MAX_DELEGATION_SECONDS * 1000 &&
    issuedAt <= now + MAX_AHEAD_MS &&
    expiresAt <= (at === 0 ? root : (hops[at - 1] as ChainHop)).expiresAt
  return hops.every(isInTime) ? null : 'times'
}

/** The end of step f: each hop is bound to the token before it, so that none fits another chain. */
export function isBound({ certificate, hopTokens, signed }: SignedChain): boolean {
  const before = [certificate, ...hopTokens]
  return signed.every(({ binding }, at) => binding === bindingOf(before[at] as string))
}

/** Steps g and h. @returns null if the chain is current, and the policy accepts it */
export function chainRefusal(
  { hops }: Chain,
  policy: DelegationPolicy,
  now: number,
): 'delegation-expired' | 'delegation-refused' | null {
  const last = hops.at(-1)
  if (last === undefined || !(last.expiresAt > now)) return 'delegation-expired'
  return isAcceptedBy(policy, hops) ? null : 'delegation-refused'
}

/** Step h: whether a policy accepts chains of this depth, duration and kind. @param hops from the agent to the delegate */
export function isAcceptedBy(
  { maxDepth, maxSeconds, mcp }: DelegationPolicy,
  hops: readonly DelegationHop[],
): boolean {
  const [first] = hops
  return (
    first !== undefined &&
    hops.length <= maxDepth &&
    first.expiresAt - first.issuedAt <= maxSeconds * 1000 &&
    (mcp === true || hops.every(({ limits }) => limits.mcp === null))
  )
}

/** A chain as results show it. */
export function delegationOf(hops: readonly ChainHop[], fault: DelegationFault | null): Delegation {
  return {
    depth: hops.length,
    keyid: fault === 'format' ? null : (hops.at(-1)?.keyid ?? null),
    fault,
    hops: hops.map(({ publicKey: _, ...hop }) => hop),
  }
}
