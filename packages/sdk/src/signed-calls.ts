import type { CallOptions } from './options.ts'
import * as schemas from './responses/schemas.ts'
import type { DelegationGroup, DelegationGroupEnded, Grant } from './responses/types.ts'
import { sendSigned } from './send-signed.ts'
import type { SignedCalls } from './service-signer.ts'

/** Described at `Agent.grant`. */
export function requestGrant(
  calls: SignedCalls,
  body: object,
  options: Pick<CallOptions, 'signal'>,
): Promise<Grant> {
  return sendSigned(calls, { path: 'grant', body, schema: schemas.GRANT }, options)
}

/** Groups of delegations, each of which ends without the others. An agent has at most 100. */
export class DelegationGroups {
  readonly #calls: SignedCalls

  constructor(calls: SignedCalls) {
    this.#calls = calls
  }

  /**
   * Creates a group: pass its certificate to `Agent.delegate`. If a response is lost, an unused group may remain until it expires. The
   * request is signed for the origin of the service, which need not be one of `audiences`.
   * @param label your text for the owner, 1 to 64 characters
   * @throws CountersignError FORBIDDEN if the owner has not allowed delegation. CONFLICT if there are 100. INVALID_SIGNATURE if the DID
   *   has another key, or `issuer` is not the `BASE_URL` of the service. NO_DID; AGENT_NOT_ACTIVE; RATE_LIMITED
   */
  create(label: string, options: Pick<CallOptions, 'signal'> = {}): Promise<DelegationGroup> {
    const schema = schemas.DELEGATION_GROUP
    return sendSigned(
      this.#calls,
      { path: 'delegations', body: { label }, schema, alsoOk: [201] },
      options,
    )
  }

  /**
   * Ends a group, at once; the others go on. A retry is safe.
   * @param id as `create` returned it
   * @throws CountersignError NOT_FOUND if this agent has no such group; otherwise as `create`
   */
  end(id: string, options: Pick<CallOptions, 'signal'> = {}): Promise<DelegationGroupEnded> {
    const path = `delegations/${encodeURIComponent(id)}/end`
    return sendSigned(
      this.#calls,
      { path, body: {}, schema: schemas.DELEGATION_GROUP_ENDED },
      options,
    )
  }
}
