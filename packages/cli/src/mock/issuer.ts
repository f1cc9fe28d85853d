import {
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomUUID,
  sign as signBytes,
} from 'node:crypto'
import { deflateSync } from 'node:zlib'
import {
  type ApprovalClaims,
  type CertificateClaims,
  CodedError,
  chainStart,
  didOf,
  didWebOf,
  encodeBase64Url,
  type FeedHeadClaims,
  type FeedPosition,
  gradeOf,
  type IssuerJwk,
  type IssuerKeySet,
  type JwsAlgorithm,
  jwkOf,
  parseJws,
  type Snapshot,
  type SnapshotClaims,
  STATUS_BITS,
  STATUS_LIST_BYTES,
  STATUS_VALUES,
  type StapleClaims,
  type StatusValue,
  setStatusAt,
  signJws,
  TOKEN_TYPES,
  type TokenType,
} from '@countersign/protocol'
import { CLAIMED_AT, currentKey, type MockAgent, type MockKey } from './agents.ts'
import { didOfMock, type MockSite } from './documents.ts'

/** The path of the list with the entries of all keys. */
export const STATUS_LIST_PATH = '/status/1'
const LIST = 1

/** Lifetimes in seconds, and how long verifiers may keep a list: as in a service. */
const LIFETIMES = { certificate: 86_400, staple: 900, list: 600, head: 60 }
const TTL = 30
/** What only a service can read in a head. */
const MARK_BYTES = 52

interface SigningKey {
  readonly jwk: IssuerJwk
  readonly privateKey: KeyObject
}

/**
 * Signs certificates, staples, the status list and heads of the feed, as a service does. Its keys are new at each start, because a
 * site may pin them. Nothing changes, so the feed has heads only.
 */
export class MockIssuer {
  readonly #site: MockSite
  readonly #keys: Readonly<Record<JwsAlgorithm, SigningKey>>
  readonly #epoch = randomUUID()
  /** The entry of each key, by its thumbprint. */
  readonly #entries = new Map<string, number>()
  /** The entry of certificates whose delegations were ended. */
  readonly #ended: number
  readonly #list = new Uint8Array(STATUS_LIST_BYTES)

  constructor(site: MockSite, agents: readonly MockAgent[]) {
    this.#site = site
    this.#keys = { EdDSA: newKey('EdDSA'), ES256: newKey('ES256') }
    for (const agent of agents) {
      for (const key of agent.keys) {
        setStatusAt(this.#list, this.#entries.size, statusOf(agent, key))
        this.#entries.set(key.keyThumbprint, this.#entries.size)
      }
    }
    this.#ended = this.#entries.size
    setStatusAt(this.#list, this.#ended, STATUS_VALUES.invalid)
  }

  /** `GET /.well-known/jwks.json` */
  keySet(): IssuerKeySet {
    return { keys: [this.#keys.EdDSA.jwk, this.#keys.ES256.jwk] }
  }

  /**
   * `GET /api/v1/agent/{did}/certificate`
   * @throws CodedError AGENT_NOT_ACTIVE
   */
  async certificate(agent: MockAgent, alg?: JwsAlgorithm): Promise<string> {
    if (agent.status === 'active') return this.certificateOf(agent, currentKey(agent), alg)
    throw new CodedError(
      'AGENT_NOT_ACTIVE',
      `This agent is ${agent.status}. Only active agents have a certificate.`,
    )
  }

  /** The certificate that an agent got while it was active and had this key. */
  certificateOf(agent: MockAgent, key: MockKey, alg?: JwsAlgorithm): Promise<string> {
    return this.#certificateWith(agent, key, this.#entryOf(key), alg)
  }

  /** The certificate that an agent had before it ended its delegations. */
  endedCertificateOf(agent: MockAgent): Promise<string> {
    return this.#certificateWith(agent, currentKey(agent), this.#ended)
  }

  #certificateWith(
    agent: MockAgent,
    key: MockKey,
    idx: number,
    alg?: JwsAlgorithm,
  ): Promise<string> {
    const { origin } = this.#site
    const did = didOf(this.#site.naming, agent.tail)
    const { grade, policyVersion, verification } = this.#evidenceOf(agent, 'active')
    const { maxDelegationDepth } = agent
    const claims: CertificateClaims = {
      iss: origin,
      sub: did,
      ...this.#times(LIFETIMES.certificate),
      jti: randomUUID(),
      vct: `${origin}/credentials/agent-certificate`,
      cnf: { jwk: jwkOf(key.publicKey) },
      status: { status_list: { uri: origin + STATUS_LIST_PATH, idx } },
      identityMethod: verification?.provider ?? null,
      identityLevel: verification === null ? 'unverified' : 'verified',
      assurance: verification?.assurance ?? null,
      grade,
      policyVersion,
      keySequence: agent.keys.indexOf(key) + 1,
      keyChangedAt: new Date(CLAIMED_AT).toISOString(),
      did_web: didWebOf(new URL(origin).host, did),
      ...(maxDelegationDepth > 0 && { maxDelegationDepth }),
    }
    return this.#sign(TOKEN_TYPES.certificate, claims, alg)
  }

  /** `GET /api/v1/agent/{did}/staple` */
  staple(agent: MockAgent, alg?: JwsAlgorithm): Promise<string> {
    const claims: StapleClaims = {
      iss: this.#site.origin,
      sub: didOfMock(this.#site, agent),
      cnf: { jkt: currentKey(agent).keyThumbprint },
      agentStatus: agent.status,
      grade: this.#evidenceOf(agent, agent.status).grade,
      feed: this.#position(),
      ...this.#times(LIFETIMES.staple),
    }
    return this.#sign(TOKEN_TYPES.staple, claims, alg)
  }

  /** The token of an approval, which no owner has decided about. */
  approval(claims: ApprovalClaims): Promise<string> {
    return this.#sign(TOKEN_TYPES.approval, claims)
  }

  /** `GET /status/1` */
  statusList(): Promise<string> {
    return this.#sign(TOKEN_TYPES.statusList, {
      sub: this.#site.origin + STATUS_LIST_PATH,
      ...this.#times(LIFETIMES.list),
      ttl: TTL,
      feed: this.#position(),
      status_list: { bits: STATUS_BITS, lst: this.#lst() },
    })
  }

  /** `GET /api/v1/snapshot` */
  async snapshot(): Promise<Snapshot> {
    const hash = createHash('sha256').update(this.#list).digest('base64url')
    const claims: SnapshotClaims = {
      ...this.#headClaims(LIFETIMES.list),
      lists: [{ list: LIST, hash }],
    }
    return {
      manifest: await this.#sign(TOKEN_TYPES.snapshot, claims),
      head: await this.head(),
      lists: [{ list: LIST, lst: this.#lst() }],
    }
  }

  /** The end of the feed, which is also its cursor. */
  head(): Promise<string> {
    const mark = randomBytes(MARK_BYTES).toString('base64url')
    return this.#sign(TOKEN_TYPES.feedHead, { ...this.#headClaims(LIFETIMES.head), mark })
  }

  /** @throws CodedError CURSOR_EXPIRED if the cursor is of an earlier start; InvalidTokenError */
  assertCursor(cursor: string): void {
    if (cursor === '0' || parseJws(cursor).payload.epoch === this.#epoch) return
    throw new CodedError('CURSOR_EXPIRED', 'The mock has started since. Load the snapshot.')
  }

  #headClaims(lifetime: number): Omit<FeedHeadClaims, 'mark'> {
    return {
      iss: this.#site.origin,
      ...this.#times(lifetime),
      ...this.#position(),
      chain: encodeBase64Url(chainStart(this.#site.origin, this.#epoch)),
      asOf: Math.floor(this.#site.now()),
    }
  }

  #position(): FeedPosition {
    return { epoch: this.#epoch, n: 0 }
  }

  #evidenceOf({ channels, owner }: MockAgent, status: MockAgent['status']) {
    const now = this.#site.now()
    const verifications = owner?.verifications ?? []
    const { evidence, ...grade } = gradeOf({ status, channels, verifications, now })
    return { ...grade, verification: evidence.verification }
  }

  #entryOf({ keyThumbprint }: MockKey): number {
    return this.#entries.get(keyThumbprint) as number
  }

  #times(lifetime: number) {
    const iat = Math.floor(this.#site.now() / 1000)
    return { iat, exp: iat + lifetime }
  }

  #lst(): string {
    return deflateSync(this.#list).toString('base64url')
  }

  #sign(typ: TokenType, claims: object, alg: JwsAlgorithm = 'EdDSA'): Promise<string> {
    const { jwk, privateKey } = this.#keys[alg]
    const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
    const digest = alg === 'EdDSA' ? null : 'sha256'
    const signed = (message: Uint8Array) => new Uint8Array(signBytes(digest, message, key))
    return signJws({ alg, kid: jwk.kid, typ }, claims, signed)
  }
}

/** A key that was replaced, and those of revoked agents, are invalid for good. */
function statusOf(agent: MockAgent, key: MockKey): StatusValue {
  if (agent.status === 'revoked' || key !== currentKey(agent)) return STATUS_VALUES.invalid
  return agent.status === 'suspended' ? STATUS_VALUES.suspended : STATUS_VALUES.valid
}

function newKey(alg: JwsAlgorithm): SigningKey {
  const { publicKey, privateKey } =
    alg === 'EdDSA'
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' })
  // In the order of RFC 7638 section 3.3.
  const members = alg === 'EdDSA' ? { crv, kty, x } : { crv, kty, x, y }
  const kid = createHash('sha256').update(JSON.stringify(members)).digest('base64url')
  return { jwk: { ...members, kid, use: 'sig' } as IssuerJwk, privateKey }
}
