import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { namingFor, namingOfDid } from '@countersign/protocol'
import type { Cleanup } from '../../../../test/support/service.ts'
import type { Decision } from '../../src/decision/decision.ts'
import { agentOf, gateway } from '../../src/fetch.ts'
import type { GatewayOptions } from '../../src/options.ts'
import type { PolicyInput } from '../../src/policy/policy.ts'
import type { IssuerSite } from './issuer-site.ts'
import { type ForeignSigner, foreignSigner, olderNonceStore, SHOP } from './signing.ts'

/** An agent of an issuer: it signs as the SDK does, and sends the tokens that a test gives it. */
export interface OfflineAgent {
  readonly did: string
  readonly publicKey: Uint8Array
  readonly signer: ForeignSigner
}

/** The headers of the tokens that a request carries. */
export interface Tokens {
  readonly certificate?: string
  readonly staple?: string
}

const TAILS = 'ABCDEFGHJKLMNPQRSTUVWXYZ'

/** @param n which agent: each has a DID of its own. @param now the clock of its signatures */
export function offlineAgent(
  origin: string,
  n = 0,
  { shortName = 'svc', now = Date.now, keys = generateKeyPairSync('ed25519') } = {},
): OfflineAgent {
  const tail = (TAILS[n] ?? 'a').repeat(24)
  const url = `${origin}/agent/${tail}/jwks.json`
  const signer = foreignSigner({ dialect: 'ietf', url }, keys, now)
  return { did: `${shortName}:agent:${tail}`, publicKey: signer.publicKey, signer }
}

export interface Visited {
  readonly status: number
  readonly decision: Decision
  readonly reasons: readonly string[]
}

/** A site behind a gateway that trusts issuers. */
export interface OfflineSite {
  /** Sends a signed request with these tokens. */
  visit(agent: OfflineAgent, tokens?: Tokens, init?: RequestInit): Promise<Visited>
  /** Sends a request as it is. */
  send(request: Request): Promise<Visited>
  close(): Promise<void>
}

/** Proven agents only, so that nothing but a proof admits. */
export const PROVEN: PolicyInput = { requireProof: true }

export function startOfflineSite(
  t: Cleanup,
  sites: readonly (IssuerSite & { readonly didPrefix?: string })[],
  { policy = {}, ...options }: Partial<GatewayOptions> = {},
): OfflineSite {
  const decisions: Decision[] = []
  const trust = sites.map(({ origin, didPrefix = 'svc:agent:' }) => ({ issuer: origin, didPrefix }))
  const protect = gateway({
    service: sites[0]?.origin ?? assert.fail('no issuer'),
    audiences: [SHOP],
    nonces: olderNonceStore(),
    timeoutMs: 30_000,
    policy: { ...PROVEN, trust, ...policy },
    onDecision: (decision) => decisions.push(decision),
    ...options,
  })
  t.after(() => protect.close())
  const handler = protect((request: Request) => Response.json(agentOf(request)))
  const send = async (request: Request) => {
    const { status } = await handler(request)
    const decision = decisions.at(-1) ?? assert.fail('no decision')
    return { status, decision, reasons: decision.reasons.map(({ code }) => code) }
  }
  return {
    send,
    visit: async (agent, tokens = {}, init = {}) => send(await signed(agent, tokens, init)),
    close: () => protect.close(),
  }
}

/** A request as an agent with a certificate sends it. */
export function signed(
  { did, signer }: OfflineAgent,
  { certificate, staple }: Tokens,
  init: RequestInit = {},
  idHeader = 'ServiceID',
  url = `${SHOP}/orders`,
): Promise<Request> {
  const headers = new Headers(init.headers)
  headers.set(idHeader, did)
  if (certificate !== undefined) headers.set(`${idHeader}-Certificate`, certificate)
  if (staple !== undefined) headers.set(`${idHeader}-Status`, staple)
  const naming = namingFor(namingOfDid(did)?.shortName, idHeader)
  return signer.sign(url, { ...init, headers }, naming)
}
