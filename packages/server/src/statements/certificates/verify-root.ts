import {
  agentOfKeySetUrl,
  type DelegationRoot,
  didOf,
  InvalidTokenError,
  keyThumbprint,
  type ParsedJws,
  type RootLookup,
  STATUS_VALUES,
  TOKEN_TYPES,
  verifyToken,
} from '@countersign/protocol'
import type { AgentReadModel } from '../../agents/read-model/agent-read-model.ts'
import type { Site } from '../../base/site.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import { verifyWithOwnKey } from '../../secrets/issuer-keys/verify-with-own-key.ts'
import { statusListUri } from '../status-lists/status-entries.ts'
import type { StatusState } from '../status-lists/status-state.ts'
import { CERTIFICATE_TYPE_PATH } from './certificate-claims.ts'

interface RootDeps {
  readonly site: Site
  readonly readModel: AgentReadModel
  readonly issuerKeys: IssuerKeys
  readonly statusState: StatusState
  readonly now: () => number
}

/**
 * Verifies certificates of this service by the keys and lists in memory. A changed entry counts as soon as this node has seen the change.
 * @returns a function that throws StorageFailure if this node is stale, and CodedError UNAVAILABLE while the lists are loaded
 */
export function rootVerifier(deps: RootDeps): RootLookup {
  const { site, readModel, statusState } = deps
  return async ({ signatureAgent, certificate, did, keyid }) => {
    const tail = agentOfKeySetUrl(site.naming, site.baseUrl, signatureAgent.url)
    if (tail === null) return 'untrusted-agent'
    const claims = await verifiedClaims(deps, { certificate, did })
    if (claims === null || did !== didOf(site.naming, tail)) return 'delegation-invalid'
    const view = await readModel.find({ kind: 'tail', tail })
    if (view === null) return 'unknown-key'
    const { list, idx, keySequence } = claims
    // Another node may just have begun the list.
    if (statusState.lists.valueAt(list, idx) === null) await statusState.syncToLatest()
    const value = statusState.lists.valueAt(list, idx)
    if (value !== STATUS_VALUES.valid && value !== STATUS_VALUES.suspended)
      return 'delegation-ended'
    const { publicKey, status, profile } = view.agent
    const isCurrent = profile.keySequence === keySequence && keyThumbprint(publicKey) === keyid
    return isCurrent ? { publicKey, did, status } : 'delegation-ended'
  }
}

/** Whether it is a certificate of this service about this agent that was valid at a time, whatever became of it since. */
export async function isCertificate(
  deps: Pick<RootDeps, 'site' | 'issuerKeys' | 'now'>,
  root: Pick<DelegationRoot, 'certificate' | 'did'>,
): Promise<boolean> {
  return (await verifiedClaims(deps, root)) !== null
}

interface RootClaims {
  readonly list: number
  readonly idx: number
  readonly keySequence: unknown
}

/** @returns null if it is no current certificate of this service about this agent */
async function verifiedClaims(
  { site, issuerKeys, now }: Pick<RootDeps, 'site' | 'issuerKeys' | 'now'>,
  { certificate, did }: Pick<DelegationRoot, 'certificate' | 'did'>,
): Promise<RootClaims | null> {
  const { keys } = issuerKeys.keySet()
  const expected = {
    typ: TOKEN_TYPES.certificate,
    issuer: site.baseUrl,
    keys,
    now: now() / 1000,
  }
  const token = await verifyToken(certificate, expected, verifyWithOwnKey).catch(noToken)
  if (token === null || token.payload.sub !== did) return null
  const { vct, status, keySequence } = token.payload
  const { uri, idx } = (status as { readonly status_list?: Readonly<Record<string, unknown>> })
    ?.status_list ?? { uri: null, idx: null }
  const list = listOf(site.baseUrl, uri)
  if (vct !== site.baseUrl + CERTIFICATE_TYPE_PATH || list === null || !Number.isInteger(idx)) {
    return null
  }
  return { list, idx: idx as number, keySequence }
}

/** @returns null for addresses that are none of a list of this service */
function listOf(baseUrl: string, uri: unknown): number | null {
  if (typeof uri !== 'string') return null
  const number = Number(uri.slice(uri.lastIndexOf('/') + 1))
  return statusListUri(baseUrl, number) === uri ? number : null
}

function noToken(error: unknown): ParsedJws | null {
  if (error instanceof InvalidTokenError) return null
  throw error
}
