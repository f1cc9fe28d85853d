import { hash } from 'node:crypto'
import { getHeapStatistics } from 'node:v8'
import { CodedError, type JwsAlgorithm, TOKEN_TYPES, type TokenType } from '@countersign/protocol'
import type { AgentView } from '../../agents/agent-record.ts'
import {
  type CertifiedState,
  certifiedStateOf,
  isSameState,
} from '../../agents/changes/certified-state.ts'
import { findAgent, type ReadDeps } from '../../agents/find-agent.ts'
import type { Database } from '../../database/database.ts'
import type { LoggedKey, LoggedKeys } from '../../log/read-log.ts'
import type { IssuerKeys } from '../../secrets/issuer-keys/issuer-keys.ts'
import { entryFor, type StatusReference } from '../status-lists/status-entries.ts'
import type { StatusState } from '../status-lists/status-state.ts'
import { type ClaimsInput, certificateClaimsOf, stapleClaimsOf } from './certificate-claims.ts'

interface IssuerDeps extends ReadDeps, EntryDeps {
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
    const { site, statusState } = this.#deps
    const knownUntil = this.#knownUntil()
    // Before the agent, so that its status is at least as new.
    const { epoch, n } = statusState.position
    const view = await findAgent(this.#deps, reference)
    const input = { site, view, now: this.#deps.now(), knownUntil }
    const claims = stapleClaimsOf(input, { epoch, n })
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

  /** A certificate with an entry of its own, for one group of delegations. @throws CodedError UNAVAILABLE */
  groupCertificate({ entry, logged, ...input }: Certified): {
    readonly certificate: string
    /** Milliseconds since 1970. */
    readonly expiresAt: number
  } {
    const { site, certificateLifetimeMs, issuerKeys } = this.#deps
    const claims = certificateClaimsOf({ site, ...input }, entry, certificateLifetimeMs, logged)
    const jti = identifierOf(issuerKeys.kid('EdDSA'), JSON.stringify(claims))
    const certificate = issuerKeys.sign(TOKEN_TYPES.certificate, { ...claims, jti }, 'EdDSA')
    return { certificate, expiresAt: claims.exp * 1000 }
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

/** About 300 bytes each. */
const MAX_ENTRIES = 50_000

interface EntryDeps {
  readonly db: Database
  readonly now: () => number
  readonly statusState: StatusState
}

interface KnownEntry {
  readonly certified: CertifiedState
  readonly entry: StatusReference
}

/**
 * The status entries of agents whose certificates were asked for lately. One is used again without a query as long as the
 * status list that this node publishes says that it is valid: a certificate with it is worth what the list says.
 */
class KnownEntries {
  readonly #deps: EntryDeps
  readonly #entries = new Map<string, KnownEntry>()

  constructor(deps: EntryDeps) {
    this.#deps = deps
  }

  /** The entry if no query is needed; null otherwise. @throws what `StatusState.lists` throws */
  known(view: AgentView): StatusReference | null {
    const known = this.#entries.get(view.agent.tail)
    if (known === undefined) return null
    const isSame = isSameState(known.certified, certifiedStateOf(view, this.#deps.now()))
    return isSame && this.#isValid(known.entry) ? known.entry : null
  }

  /** @throws what `entryFor` throws, and what `StatusState.lists` throws */
  async entryFor(view: AgentView): Promise<StatusReference> {
    const known = this.known(view)
    if (known !== null) return known
    const { tail } = view.agent
    const certified = certifiedStateOf(view, this.#deps.now())
    const entry = await entryFor(this.#deps, view)
    this.#entries.delete(tail)
    this.#entries.set(tail, { certified, entry })
    if (this.#entries.size > MAX_ENTRIES) {
      const [oldest] = this.#entries.keys()
      if (oldest !== undefined) this.#entries.delete(oldest)
    }
    return entry
  }

  #isValid({ list, idx }: StatusReference): boolean {
    return this.#deps.statusState.lists.valueAt(list, idx) === 0
  }
}

/** About 27,000 certificates. */
const MAX_BYTES = 64 * 1024 * 1024
/** Of the heap, on a small machine. */
const HEAP_SHARE = 1 / 32
/** Of a token, besides its text and that of its claims. */
const OVERHEAD_BYTES = 400

interface Unsigned {
  readonly typ: TokenType
  readonly claims: object
  readonly alg: JwsAlgorithm
  /** Whether to add a `jti`: 128 bits that all nodes compute alike. */
  readonly identified: boolean
}

interface Signed {
  readonly kid: string
  readonly content: string
  readonly token: string
}

/** The last tokens that were signed: the same content is signed once. */
class SignedTokens {
  readonly #keys: IssuerKeys
  readonly #tokens = new Map<string, Signed>()
  readonly #maxBytes = Math.min(MAX_BYTES, getHeapStatistics().heap_size_limit * HEAP_SHARE)
  #bytes = 0

  constructor(keys: IssuerKeys) {
    this.#keys = keys
  }

  /**
   * @param id identifies the agent and the kind of token
   * @throws what `IssuerKeys.sign` throws
   */
  token(id: string, { typ, claims, alg, identified }: Unsigned): string {
    // A token of a key that was taken out of use is never handed out again.
    const kid = this.#keys.kid(alg)
    const content = JSON.stringify(claims)
    const known = this.#tokens.get(id)
    if (known?.kid === kid && known.content === content) return known.token
    const payload = identified ? { ...claims, jti: identifierOf(kid, content) } : claims
    const token = this.#keys.sign(typ, payload, alg)
    this.#delete(id)
    this.#set(id, { kid, content, token })
    return token
  }

  #set(id: string, signed: Signed): void {
    this.#tokens.set(id, signed)
    this.#bytes += sizeOf(signed)
    for (const [oldest] of this.#tokens) {
      if (this.#bytes <= this.#maxBytes) break
      this.#delete(oldest)
    }
  }

  #delete(id: string): void {
    const known = this.#tokens.get(id)
    if (known === undefined) return
    this.#tokens.delete(id)
    this.#bytes -= sizeOf(known)
  }
}

/** All of it is ASCII. */
function sizeOf({ content, token }: Signed): number {
  return content.length + token.length + OVERHEAD_BYTES
}

function identifierOf(kid: string, content: string): string {
  return hash('sha256', kid + content, 'base64url').slice(0, 22)
}
