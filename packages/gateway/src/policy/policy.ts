import type { AgentStatus, Grade } from '@countersign/sdk'

/**
 * What is known of who stands behind a request, from the least to the most:
 * `none` no identification header; `unknown` one that cannot be read or names no agent; `unverified` an agent whose owner
 * is not verified (by a provider that you accept); `verified` an agent whose owner is.
 */
export type Level = 'none' | 'unknown' | 'unverified' | 'verified'
export const LEVELS: readonly Level[] = ['none', 'unknown', 'unverified', 'verified']

/** What to do with a level: let in, let in so often, refuse. */
export type LevelAction = 'allow' | 'limit' | 'deny'
/** `shadow` decides, says so, and refuses nobody. */
export type Mode = 'enforce' | 'shadow'
/**
 * What to do while the service cannot be asked: refuse; let in, marked; let in; or go by the last answer, if it is young
 * enough, and refuse otherwise.
 */
export type WhenUnreachable = 'deny' | 'flag' | 'allow' | 'stale'

/** The part of a policy that can differ from route to route. */
export interface Rules {
  readonly levels: Readonly<Record<Level, LevelAction>>
  /** Certificates of another status are refused, whatever else speaks for them. */
  readonly statuses: readonly AgentStatus[]
  /** Agents of a worse grade are refused. Null: any. */
  readonly minimumGrade: Grade | null
  /** Owners who are verified by another provider count as unverified. Null: any provider. */
  readonly identityMethods: readonly string[] | null
  /** DIDs that are let in whatever their level and grade, if their status is allowed. */
  readonly allow: readonly string[]
  /** DIDs that are refused, whatever else speaks for them. */
  readonly deny: readonly string[]
  /** Refuse agents that only say who they are, and have not proved their key by a session of this site. */
  readonly requireProof: boolean
  readonly unreachable: WhenUnreachable
  /** How old the last answer may be where `unreachable` is `stale`. */
  readonly maxStaleSeconds: number
}

/** Rules of their own for some paths. */
export interface Route extends Rules {
  /** `/exactly` or `/all/below/*`, as it stands in the URL. */
  readonly path: string
  /** Null: every method. */
  readonly methods: readonly string[] | null
}

/** So many requests in so many seconds, for each agent or address. */
export interface Limit {
  readonly requests: number
  readonly seconds: number
}

/** A policy that has been read: complete and checked. */
export interface Policy extends Rules {
  readonly mode: Mode
  readonly limit: Limit
  /** How long an answer of the service is used before it is asked again: a revoked agent is out within that time. */
  readonly cacheSeconds: number
  /** Whether a CORS preflight is let through, or decided like any request. */
  readonly preflight: 'pass' | 'decide'
  /** The first that fits a request counts; the policy's own rules where none does. */
  readonly routes: readonly Route[]
}

type RulesInput = Partial<Omit<Rules, 'levels'>> & {
  readonly levels?: Partial<Rules['levels']>
}

/** A policy as it is written: what is left out is as the reference says (README.md). */
export type PolicyInput = Partial<Omit<Policy, keyof Rules | 'routes' | 'limit'>> &
  RulesInput & {
    readonly limit?: Partial<Limit>
    readonly routes?: readonly (RulesInput &
      Pick<Route, 'path'> &
      Partial<Pick<Route, 'methods'>>)[]
  }
