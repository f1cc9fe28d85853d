import { runScript } from './load.ts'
import type { Options } from './options.ts'
import type { Times } from './statistics.ts'
import type { Bench } from './systems.ts'
import { count, milliseconds } from './table.ts'

/** What `followers.ts` gets. */
export interface FollowerTask {
  readonly followers: readonly number[]
  /** How long requests are counted. */
  readonly seconds: number
  /** How many are timed, one after another. */
  readonly revocations: number
}

/** What followers that poll through nginx's cache ask of the service. */
export interface FollowerLoad {
  readonly followers: number
  /** Of all followers, at the cache. */
  readonly sentPerSecond: number
  /** Of these, at the service. */
  readonly servedPerSecond: number
  /** From the request of an owner until the last follower knows. */
  readonly revocations: Times
  /** Revocations in a row: until the last follower knows the last of them, and what the service was asked meanwhile. */
  readonly burst: { readonly changes: number; readonly ms: number; readonly served: number }
}

const SCRIPT = import.meta.resolve('./followers.ts')
/** Beside those of `--followers`: what the service is asked must not grow with their number. */
const FEW = 100
/** A poll comes every 5 seconds: few of them say as much. */
const MOST_REVOCATIONS = 5
/** Each second of `--seconds` counts as this many, since the service is asked about once a second. */
const LENGTHENED = 4
const DEADLINE_SECONDS = 1800

/** The service in one process, the followers in another, nginx between them with the file of deploy/. */
export function measureFollowers(
  { scope, machine, say }: Bench,
  { followers, seconds, gatewayRevocations }: Options,
): Promise<FollowerLoad[]> {
  say('followers through a cache')
  const task: FollowerTask = {
    followers: [...new Set([FEW, followers])],
    seconds: LENGTHENED * seconds,
    revocations: Math.min(MOST_REVOCATIONS, gatewayRevocations),
  }
  const limit = { seconds: DEADLINE_SECONDS }
  return runScript(scope, machine, limit, SCRIPT, task, 'all') as Promise<FollowerLoad[]>
}

export function followerLines(loads: readonly FollowerLoad[]): string[] {
  return loads.map(
    ({ followers, sentPerSecond, servedPerSecond, revocations: { p50, longest }, burst }) =>
      `${count(followers)} followers through nginx’s cache: ${count(sentPerSecond)} requests/s, ` +
      `${servedPerSecond.toFixed(1)}/s at the service; revocation to the last follower: p50 ${milliseconds(p50)}, ` +
      `longest ${milliseconds(longest)}; ${burst.changes} revocations in a row: ${milliseconds(burst.ms)}, ` +
      `${burst.served} requests at the service`,
  )
}
