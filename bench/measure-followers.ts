import { runScript } from './load.ts'
import type { Times } from './statistics.ts'
import type { Bench } from './systems.ts'
import { count, milliseconds } from './table.ts'

/** What `followers.ts` gets. */
export interface FollowerTask {
  readonly followers: readonly number[]
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
const FOLLOWERS = [100, 1000, 10_000]
const DEADLINE_SECONDS = 1800

/** The service in one process, the followers in another, nginx between them with the file of deploy/. */
export function measureFollowers({ scope, machine, say }: Bench): Promise<FollowerLoad[]> {
  say('followers through a cache')
  const task: FollowerTask = { followers: FOLLOWERS }
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
