import type {
  AgentStatus,
  ApprovalPolicy,
  DelegationPolicy,
  Grade,
  IssuerKeys,
  SignatureProfile,
} from '@countersign/sdk'

/**
 * How well the owner behind a request is known, from least to most:
 * `none`: no identification header. `unknown`: an unreadable header, or one that names no existing agent. `directory`: no
 * agent of the service, but a signature by a key of one of the policy's `directories`. `unverified`: the agent's owner is not
 * verified by an accepted identity provider. `verified`: the owner is.
 */
export type Level = 'none' | 'unknown' | 'directory' | 'unverified' | 'verified'
export const LEVELS: readonly Level[] = ['none', 'unknown', 'directory', 'unverified', 'verified']

/** What to do at a level: admit, admit within the rate limit, refuse. */
export type LevelAction = 'allow' | 'limit' | 'deny'
/** `shadow` decides and reports, but refuses nothing. */
export type Mode = 'enforce' | 'shadow'
/**
 * What to do while the service is unreachable: refuse; admit and mark; admit; or use the last answer if it is recent
 * enough, and refuse otherwise.
 */
export type WhenUnreachable = 'deny' | 'flag' | 'allow' | 'stale'

/** What a refusal says in place of 401 or 403 and the reason. Rate limits (429) and failures (503) stay as they are. */
export interface RefusalResponse {
  /** 402 asks for payment, 404 hides that there is anything. Default: 401 or 403. */
  readonly status?: 402 | 403 | 404
  readonly message?: string
}

/** Which transparency logs have to contain the keys of agents. */
export interface RequireLogged {
  /** The logs that count, and the witnesses that have to cosign, in the syntax of C2SP tlog-policy. */
  readonly policy: string
}

/** The part of a policy that a route can override. */
export interface Rules {
  readonly levels: Readonly<Record<Level, LevelAction>>
  /** Agents with another certificate status are refused, even if they are on the allow list. */
  readonly statuses: readonly AgentStatus[]
  /** Agents with a worse grade are refused. Null: any grade. */
  readonly minimumGrade: Grade | null
  /** Agents whose key was replaced, or claimed, less than this ago are refused, even if they are on the allow list. */
  readonly minimumKeyAgeSeconds: number
  /** Agents that were transferred to their owner less than this ago are refused, even if they are on the allow list. */
  readonly minimumOwnerAgeSeconds: number
  /** Agents whose key is not in a transparency log are refused, even if they are on the allow list. Null: no log is asked for. */
  readonly requireLogged: RequireLogged | null
  /** Owners verified by another provider count as unverified. Null: any provider. */
  readonly identityMethods: readonly string[] | null
  /** DIDs that are admitted regardless of level and grade, if their status is allowed. */
  readonly allow: readonly string[]
  /** DIDs that are always refused. */
  readonly deny: readonly string[]
  /** Which delegates of agents are accepted. Null: none. */
  readonly delegation: DelegationPolicy | null
  /** Which approvals of its owner a signed request needs, each of which admits it once. Null: none. */
  readonly approval: ApprovalPolicy | null
  /** Refuse agents that have not proved possession of their key, by a signature or a session of this site. */
  readonly requireProof: boolean
  /** How a refusal by these rules is answered. Null: 401 or 403 with the reason. */
  readonly refusal: RefusalResponse | null
  readonly unreachable: WhenUnreachable
  /** Maximum age of the last answer if `unreachable` is `stale`. */
  readonly maxStaleSeconds: number
}

/** Rules for some paths and methods. */
export interface Route extends Rules {
  /** `/exactly` or `/all/below/*`, as written in the URL. */
  readonly path: string
  /** Null: every method. */
  readonly methods: readonly string[] | null
}

/** The rate limit of each agent or address. */
export interface Limit {
  readonly requests: number
  readonly seconds: number
}

/** A directory of keys that a policy trusts besides the service. */
export interface PolicyDirectory {
  /** An origin, or the address of a key set or of a Client ID Metadata Document; canonical. */
  readonly url: string
  /** `wba`: signatures for safe methods may cover the host alone, and have no nonce. */
  readonly profile: SignatureProfile
  /** The longest lifetime of a signature, in seconds. */
  readonly maxLifetimeSeconds: number
}

/** An issuer of certificates that a policy trusts. */
export interface PolicyIssuer {
  /** The origin of the service (its `BASE_URL`). */
  readonly issuer: string
  /** What its DIDs begin with, such as `svc:agent:`. */
  readonly didPrefix: string
  /** Its keys. Null: those that it publishes. */
  readonly jwks: IssuerKeys | null
  /** Its identification header, from which the names of those with tokens follow. */
  readonly idHeader: string
}

/** A validated policy with all defaults filled in. */
export interface Policy extends Rules {
  readonly mode: Mode
  readonly limit: Limit
  /** How long an answer of the service is cached. A revoked agent is refused within that time. */
  readonly cacheSeconds: number
  /** Whether a CORS preflight is admitted, or decided like any request. */
  readonly preflight: 'pass' | 'decide'
  /** Signers with keys from these have the level `directory`. */
  readonly directories: readonly PolicyDirectory[]
  /** Issuers whose certificates count without a question to the service. */
  readonly trust: readonly PolicyIssuer[]
  /** `maxStaleSeconds`: how old the status of an agent may be that is decided by its certificate. */
  readonly offline: { readonly maxStaleSeconds: number }
  /** The first matching route applies. If none matches, the policy's own rules do. */
  readonly routes: readonly Route[]
}

type RulesInput = Partial<Omit<Rules, 'levels' | 'delegation' | 'approval'>> & {
  readonly levels?: Partial<Rules['levels']>
  readonly delegation?: Partial<DelegationPolicy> | null
  readonly approval?: Partial<ApprovalPolicy> | null
}

/** A policy as you write it. Omitted fields get the defaults listed in README.md. */
export type PolicyInput = Partial<
  Omit<Policy, keyof Rules | 'routes' | 'limit' | 'directories' | 'trust' | 'offline'>
> &
  RulesInput & {
    readonly limit?: Partial<Limit>
    readonly directories?: readonly (Pick<PolicyDirectory, 'url'> &
      Partial<Omit<PolicyDirectory, 'url'>>)[]
    readonly trust?: readonly (Pick<PolicyIssuer, 'issuer' | 'didPrefix'> &
      Partial<Pick<PolicyIssuer, 'jwks' | 'idHeader'>>)[]
    readonly offline?: Partial<Policy['offline']>
    readonly routes?: readonly (RulesInput &
      Pick<Route, 'path'> &
      Partial<Pick<Route, 'methods'>>)[]
  }
