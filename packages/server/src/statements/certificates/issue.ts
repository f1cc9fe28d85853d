import { CodedError, type JwsAlgorithm, TOKEN_TYPES, type TokenType } from '@countersign/protocol'
import type { AgentView } from '../../agents/agent-record.ts'
import { findAgent, type ReadDeps } from '../../agents/find-agent.ts'
import type { LoggedKey, LoggedKeys } from '../../log/read-log.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import type { StatusReference } from '../status-lists/status-entries.ts'
import { type ClaimsInput, certificateClaimsOf, stapleClaimsOf } from './certificate-claims.ts'
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
    const knownUntil = this.#knownUntil()
    const { view, entry } = await this.#certifiable(reference)
    const now = this.#deps.now()
    const logged = await this.#deps.loggedKeys.find(view.agent)
    return this.#signCertificate({ view, entry, logged, now, knownUntil }, alg)
  }

  /**
   * As `certificate`, if that takes no query.
   * @param view as it is in memory
   * @returns null if the agent is not active, or a query is needed
   * @throws CodedError UNAVAILABLE; StorageFailure
   */
  certificateAtOnce(view: AgentView, alg: JwsAlgorithm): string | null {
    if (view.agent.status !== 'active') return null
    const entry = this.#entries.known(view)
    const logged = this.#deps.loggedKeys.known(view.agent)
    if (entry === null || logged === undefined) return null
    const times = { now: this.#deps.now(), knownUntil: this.#knownUntil() }
    return this.#signCertificate({ view, entry, logged, ...times }, alg)
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

  #signCertificate({ entry, logged, ...input }: Certified, alg: JwsAlgorithm): string {
    const { site, certificateLifetimeMs } = this.#deps
    const claims = certificateClaimsOf({ site, ...input }, entry, certificateLifetimeMs, logged)
    const { view } = input
    return this.#sign(TOKEN_TYPES.certificate, view, claims, alg)
  }

  #sign(typ: TokenType, { agent }: AgentView, claims: object, alg: JwsAlgorithm): string {
    const identified = typ === TOKEN_TYPES.certificate
    return this.#signed.token(`${typ} ${agent.tail} ${alg}`, { typ, claims, alg, identified })
  }
}

interface Certifiable {
  readonly view: AgentView
  readonly entry: StatusReference
}

interface Certified extends Certifiable, Omit<ClaimsInput, 'site'> {
  readonly logged: LoggedKey | null
}
