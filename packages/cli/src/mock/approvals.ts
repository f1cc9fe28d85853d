import { createHash } from 'node:crypto'
import {
  type ApprovalProgress,
  didOf,
  type RequestToApprove,
  textDigest,
} from '@countersign/protocol'
import { APPROVING, approvalId, type MockAgent } from './agents.ts'
import type { MockSite } from './documents.ts'
import type { MockIssuer } from './issuer.ts'

/** An approval of the agent that asks for them, with the same id at each start. */
export interface MockApproval {
  /** `used` is approved too: only the store of a site knows that it was used. */
  readonly name: 'pending' | 'approved' | 'used'
  readonly id: string
  readonly agent: MockAgent
  readonly request: RequestToApprove
}

/** How long a token is valid, in seconds: as long as one can be. */
const VALID_SECONDS = 3600
/**
 * The decision lies ahead, by what sites accept: a store of nonces that has just started could not tell whether an older approval was
 * used, and would refuse it for 35 seconds.
 */
const AHEAD_SECONDS = 45
/** Nobody decides. */
const PENDING_UNTIL = '2099-12-31T00:00:00.000Z'

/** @param origin of the site that requires approvals */
export function mockApprovals(
  agents: readonly MockAgent[],
  origin: string,
): readonly MockApproval[] {
  const agent = agents.find(({ name }) => name === APPROVING)
  if (agent === undefined) throw new Error(`The mock has no agent ${APPROVING}.`)
  return (['pending', 'approved', 'used'] as const).map((name) => ({
    name,
    id: approvalId(name),
    agent,
    request: {
      method: 'POST',
      url: `${origin}/orders/${name}`,
      contentType: 'application/json',
      body: '{"total":"129.00","currency":"EUR","to":"Example GmbH"}',
    },
  }))
}

/** A token that is new at each call, and null while nobody has decided. */
async function tokenOf(
  { name, id, agent, request }: MockApproval,
  site: MockSite,
  issuer: MockIssuer,
): Promise<{ readonly token: string; readonly iat: number; readonly exp: number } | null> {
  if (name === 'pending') return null
  const iat = Math.floor(site.now() / 1000) + AHEAD_SECONDS
  const exp = iat + VALID_SECONDS
  const { method, url, contentType, body } = request
  const token = await issuer.approval({
    iss: site.origin,
    sub: didOf(site.naming, agent.tail),
    aud: new URL(url).origin,
    jti: id,
    iat,
    exp,
    method,
    url,
    content:
      contentType === null || body === null
        ? null
        : { type: contentType, sha256: textDigest(body) },
    by: 'passkey',
    evidence: textDigest(`countersign mock: no passkey has signed ${id}`),
  })
  return { token, iat, exp }
}

/** `GET /api/v1/approvals/{id}` */
export async function progressOf(
  approval: MockApproval,
  site: MockSite,
  issuer: MockIssuer,
): Promise<ApprovalProgress> {
  const { id } = approval
  const issued = await tokenOf(approval, site, issuer)
  if (issued === null) return { id, state: 'pending', expiresAt: PENDING_UNTIL }
  const tokenExpiresAt = new Date(issued.exp * 1000).toISOString()
  const { token } = issued
  return { id, state: 'approved', expiresAt: PENDING_UNTIL, token, tokenExpiresAt }
}

/** What `countersign mock` prints of an approval. */
export async function listedApproval(approval: MockApproval, site: MockSite, issuer: MockIssuer) {
  const { name, id, agent, request } = approval
  const did = didOf(site.naming, agent.tail)
  const issued = await tokenOf(approval, site, issuer)
  const listed = { name, id, did, request, token: issued?.token ?? null }
  if (name !== 'used' || issued === null) return listed
  const hash = createHash('sha256').update(`approval ${site.origin} ${id}`).digest('base64url')
  const expiresAt = (issued.exp + 30) * 1000
  return { ...listed, use: { keyid: did, hash, createdAt: issued.iat * 1000, expiresAt } }
}
