import { CodedError, type JwsAlgorithm, TOKEN_TYPES, type TokenType } from '@countersign/protocol'
import type { AgentView } from '../agents/agent-record.ts'
import { findAgent, type ReadDeps } from '../agents/find-agent.ts'
import type { IssuerKeys } from '../core/issuer-keys/issuer-keys.ts'
import type { LoggedKeys } from '../log/logged-keys.ts'
import type { StatusReference } from '../status/status-entries.ts'
import { certificateClaimsOf, stapleClaimsOf } from './certificate-claims.ts'
import { type EntryDeps, KnownEntries } from './known-entries.ts'
import { SignedTokens } from './signed-tokens.ts'

export interface IssuerDeps extends ReadDeps, EntryDeps {
  readonly issuerKeys: IssuerKeys
  readonly certificateLifetimeMs: number
  readonly loggedKeys: LoggedKeys
}

/** Signs what the service knows about agents. */
export class Issuer {
  readonly #deps: IssuerDeps
  readonly #signed: SignedTokens
  readonly #entries: KnownEntries

  constructor(deps: IssuerDeps) {
    this.#deps = deps
    this.#signed = new SignedTokens(deps.issuerKeys)
    this.#entries = new KnownEntries(deps)
  }

  /**
   * The certificate of an agent: a compact JWS.
   * @throws CodedError VALIDATION_ERROR, NOT_FOUND, UNAVAILABLE; AGENT_NOT_ACTIVE with the status; StorageFailure if the node is stale
   */
  async certificate(reference: string, alg: JwsAlgorithm): Promise<string> {
    const { site, certificateLifetimeMs, loggedKeys } = this.#deps
    const knownUntil = this.#knownUntil()
    const { view, entry } = await this.#certifiable(reference)
    const input = { site, view, now: this.#deps.now(), knownUntil }
    const logged = await loggedKeys.find(view.agent)
    const claims = certificateClaimsOf(input, entry, certificateLifetimeMs, logged)
    return this.#sign(TOKEN_TYPES.certificate, view, claims, alg)
  }

  /**
   * The staple of an agent: its status for 15 minutes, whatever it is.
   * @throws CodedError VALIDATION_ERROR, NOT_FOUND, UNAVAILABLE; StorageFailure if the node is stale
   */
  async staple(reference: string, alg: JwsAlgorithm): Promise<string> {
    const { site } = this.#deps
    const knownUntil = this.#knownUntil()
    const view = await findAgent(this.#deps, reference)
    const claims = stapleClaimsOf({ site, view, now: this.#deps.now(), knownUntil })
    return this.#sign(TOKEN_TYPES.staple, view, claims, alg)
  }

  /** Read it before the data: what is read later is at least as new. */
  #knownUntil(): number {
    return this.#deps.now() - this.#deps.readModel.staleness()
  }

  /** If the agent has changed on another node, its data are read once more. */
  async #certifiable(reference: string): Promise<Certifiable> {
    try {
      return await this.#readCertifiable(reference)
    } catch (error) {
      if (!(error instanceof CodedError) || error.code !== 'UNAVAILABLE') throw error
      await this.#deps.readModel.catchUp()
      return this.#readCertifiable(reference)
    }
  }

  async #readCertifiable(reference: string): Promise<Certifiable> {
    const view = await findAgent(this.#deps, reference)
    const { status } = view.agent
    if (status !== 'active') {
      throw new CodedError(
        'AGENT_NOT_ACTIVE',
        `This agent is ${status}. Only active agents have a certificate.`,
      )
    }
    return { view, entry: await this.#entries.entryFor(view) }
  }

  #sign(typ: TokenType, { agent }: AgentView, claims: object, alg: JwsAlgorithm): Promise<string> {
    const identified = typ === TOKEN_TYPES.certificate
    return this.#signed.token(`${typ} ${agent.tail} ${alg}`, { typ, claims, alg, identified })
  }
}

interface Certifiable {
  readonly view: AgentView
  readonly entry: StatusReference
}
