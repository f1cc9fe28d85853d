import {
  CodedError,
  GRANT_LIFETIME,
  type Grant,
  type GrantRequest,
  JWT_BEARER_GRANT,
  keyThumbprint,
  type RawRequest,
  type Tail,
} from '@countersign/protocol'
import { recordAccountActivity } from '../../accounts/account-activity-table.ts'
import { assertOwnerNotSuspended } from '../../accounts/owner-suspension.ts'
import type { AgentView } from '../../agents/agent-record.ts'
import { agentByTail } from '../../agents/agent-table.ts'
import { findOrThrow } from '../../agents/find-agent.ts'
import { assertOwnRequest } from '../../agents/verification/own-request.ts'
import type { VerifyDeps } from '../../agents/verification/verify-challenge.ts'
import { didOfAgent, tailOf } from '../../base/site.ts'
import { timestamp } from '../../base/timestamp.ts'
import type { Tx } from '../../database/database.ts'
import type { Sender } from '../../http/outbound/open-sender.ts'
import type { CoreDeps } from '../../secrets/core-deps.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import { evidenceOf } from '../certificates/certificate-claims.ts'
import { assertAuthorizationServer } from './authorization-server.ts'
import { issuerOfAgent, recordUse } from './grant-table.ts'
import { grantIssuerUrl } from './manage-issuers.ts'

export interface GrantDeps extends VerifyDeps, Pick<CoreDeps, 'db' | 'randomBytes'> {
  readonly issuerKeys: Pick<IssuerKeys, 'signGrant'>
  readonly sender: Pick<Sender, 'check' | 'get'>
}

const JTI_BYTES = 16

/**
 * Issues a grant (RFC 7523, draft-carleton-workload-authz-grant) to the agent that signed the request.
 * @param reference the DID or tail in the URL
 * @param received the request as it was received, with its body
 * @throws CodedError UNAUTHENTICATED or INVALID_SIGNATURE; FORBIDDEN if another agent or a delegate signed it; AGENT_NOT_ACTIVE; CONFLICT if the
 *   owner has assigned the agent to no issuer; VALIDATION_ERROR if the metadata of the authorization server do not match;
 *   RATE_LIMITED; UNAVAILABLE; StorageFailure
 */
export async function issueGrant(
  deps: GrantDeps,
  reference: string,
  received: RawRequest,
  request: GrantRequest,
): Promise<Grant> {
  const { db, now, site, readModel, sender, issuerKeys } = deps
  const tail = tailOf(site.naming, reference)
  const keyid = await assertOwnRequest(
    deps,
    tail,
    received,
    'This agent requests too many grants. Use an access token until it expires.',
  )
  if ((await issuerOfAgent(db.read, tail)) === undefined) throw notAssigned(deps, tail)
  await assertAuthorizationServer(sender, request)
  // The fetch took time: the database decides whether the agent may still have the grant.
  const issuerId = await db.write((tx) => recordGrant(deps, tx, { tail, keyid, request }))
  const knownUntil = now() - readModel.staleness()
  const view = await requireActive(deps, tail)
  const issuer = grantIssuerUrl(site, issuerId)
  const claims = { iss: issuer, ...claimsOf(deps, view, request, knownUntil) }
  return {
    assertion: issuerKeys.signGrant(issuerId, claims),
    grantType: JWT_BEARER_GRANT,
    issuer,
    expiresAt: timestamp(claims.exp * 1000),
  }
}

async function requireActive(deps: GrantDeps, tail: Tail): Promise<AgentView> {
  const view = await findOrThrow(deps, { kind: 'tail', tail })
  if (view.agent.status === 'active') return view
  throw notActive(view.agent.status)
}

function notActive(status: string): CodedError {
  return new CodedError(
    'AGENT_NOT_ACTIVE',
    `This agent is ${status}. Only active agents get grants.`,
  )
}

function notAssigned({ site }: Pick<GrantDeps, 'site'>, tail: Tail): CodedError {
  const page = `${site.baseUrl}/dashboard/agents/${didOfAgent(site, tail)}/oauth`
  return new CodedError(
    'CONFLICT',
    `The owner has assigned this agent to no grant issuer. Ask the owner to choose one at ${page}.`,
  )
}

interface Granted {
  readonly tail: Tail
  /** The thumbprint of the key that signed the request. */
  readonly keyid: string
  readonly request: GrantRequest
}

/** @returns the id of the issuer */
async function recordGrant(
  deps: GrantDeps,
  tx: Tx,
  { tail, keyid, request: { audience } }: Granted,
): Promise<string> {
  const { now, site } = deps
  const [agent, issuer] = [await agentByTail(tx.db, tail), await issuerOfAgent(tx.db, tail)]
  if (agent === undefined || agent.status !== 'active') throw notActive(agent?.status ?? 'unknown')
  if (keyThumbprint(agent.public_key) !== keyid) {
    throw new CodedError('CONFLICT', 'The key of this agent has changed. Sign with the new one.')
  }
  if (issuer === undefined || issuer.owner_id !== agent.owner_id) throw notAssigned(deps, tail)
  const { owner_id: ownerId } = agent
  await assertOwnerNotSuspended(tx.db, ownerId)
  if (await recordUse(tx, tail, audience, now())) {
    await recordAccountActivity(tx, {
      ownerId,
      type: 'owner.grant_first_issued',
      at: now(),
      details: { agent: didOfAgent(site, tail), audience },
    })
  }
  return issuer.id
}

/** @param knownUntil up to when the node knows the database, in milliseconds since 1970 */
function claimsOf(
  { site, now, randomBytes }: GrantDeps,
  view: AgentView,
  { audience, tokenEndpoint, resource }: GrantRequest,
  knownUntil: number,
) {
  const { grade, verification, expiresAt } = evidenceOf(view, now())
  const issuedAt = Math.floor(knownUntil / 1000)
  return {
    sub: didOfAgent(site, view.agent.tail),
    // Both, because authorization servers differ in which they expect (draft-carleton-workload-authz-grant).
    aud: audience === tokenEndpoint ? audience : [audience, tokenEndpoint],
    iat: issuedAt,
    exp: Math.min(issuedAt + GRANT_LIFETIME, Math.floor(expiresAt / 1000)),
    jti: Buffer.from(randomBytes(JTI_BYTES)).toString('base64url'),
    identityMethod: verification?.provider ?? null,
    identityLevel: verification === null ? 'unverified' : 'verified',
    grade,
    ...(resource === undefined ? {} : { resource }),
  }
}
