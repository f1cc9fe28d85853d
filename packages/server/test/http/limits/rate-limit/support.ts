import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Answer, assertRefused } from '../../../../../../test/support/answer.ts'
import { post } from '../../../../../../test/support/ask.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { ON_POSTGRES, WRITER_LOCK } from '../../../../../../test/support/postgres.ts'
import { openRaw } from '../../../../../../test/support/raw-database.ts'
import {
  type Cleanup,
  claimBody,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../../../test/support/service.ts'
import type { Settings } from '../../../../src/base/config.ts'

/** Per hour, so that the quota does not refill during a slow test. */
export const LIMITED = { PREVIEWS: 'rate-limit', RATE_LIMITS: 'failed-claims=10/h' } as const
/** Trusts the test's connection as a proxy, so that the test can use any client address. */
export const BEHIND_PROXY = { ...LIMITED, TRUSTED_PROXIES: '127.0.0.1,::1' } as const

/** A token that was never issued. */
export function unknownToken(service: TestService): string {
  return `${service.settings.naming.shortName}-verify-${'0'.repeat(32)}`
}

/** Claims with a token that was never issued. @param from the client address, if the service trusts our proxy header */
export function failToClaim(service: TestService, from?: string): Promise<Answer> {
  return claimFrom(service, claimBody(unknownToken(service), newKey()), from)
}

export function claimFrom(service: TestService, body: unknown, from?: string): Promise<Answer> {
  const headers = from === undefined ? {} : { 'x-forwarded-for': from }
  return post(service, '/api/v1/claim', body, 'application/json', headers)
}

/** Asserts that a response is 429 with the name of the limit and Retry-After. */
export function assertLimited(answer: Answer, name: string): void {
  assertRefused(answer, 429, 'RATE_LIMITED', /Try again in \d+ s/)
  assert.match(answer.headers.get('retry-after') ?? 'none', /^[1-9]\d*$/)
  assert.ok(policiesOf(answer).has(name), answer.headers.get('ratelimit-policy') ?? 'no policy')
  assert.equal(leftOf(answer).get(name)?.get('r'), 0)
}

/** The parameters in `RateLimit-Policy`, by the name of the limit. */
export function policiesOf({ headers }: Answer): Map<string, Map<string, number>> {
  return itemsOf(headers.get('ratelimit-policy'))
}

/** The parameters in `RateLimit`, by the name of the limit. */
export function leftOf({ headers }: Answer): Map<string, Map<string, number>> {
  return itemsOf(headers.get('ratelimit'))
}

/** A list of strings with integers as parameters (RFC 9651). */
function itemsOf(header: string | null): Map<string, Map<string, number>> {
  const items = header === null ? [] : header.split(', ')
  return new Map(
    items.map((item) => {
      const [, name, parameters] = /^"([a-z-]+)"((?:;[a-z]=\d+)+)$/.exec(item) ?? []
      assert.ok(name !== undefined && parameters !== undefined, item)
      const pairs = parameters
        .slice(1)
        .split(';')
        .map((pair) => pair.split('=') as [string, string])
      return [name, new Map(pairs.map(([key, value]) => [key, Number(value)]))]
    }),
  )
}

const STALL = ON_POSTGRES ? `select pg_advisory_lock(${WRITER_LOCK})` : 'begin immediate'
const GO_ON = ON_POSTGRES ? `select pg_advisory_unlock(${WRITER_LOCK})` : 'rollback'

/** Blocks all writes from a separate connection. @returns unblocks them */
export async function stallWrites(t: Cleanup, settings: Settings): Promise<() => Promise<unknown>> {
  const raw = await openRaw(settings)
  t.after(() => raw.close())
  await raw.exec(STALL)
  return () => raw.exec(GO_ON)
}

/** Below the 5 s after which a request stops waiting for a write. */
const WRITE_WAIT_MS = 4500

/**
 * Runs a test while writes are blocked. On a slow machine the waiting requests may time out before the writes are
 * unblocked; a failure then proves nothing, and the test is repeated.
 * @param attempt starts services of its own, and calls `stall`, which is `stallWrites`
 * @param most the number of attempts
 */
export async function whileStalled(
  attempt: (stall: typeof stallWrites) => Promise<void>,
  most = 4,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    let stalledFor = 0
    let release: () => Promise<unknown> = async () => undefined
    try {
      return await attempt(async (t, settings) => {
        const goOn = await stallWrites(t, settings)
        const since = performance.now()
        release = () => {
          release = async () => undefined
          stalledFor = performance.now() - since
          return goOn()
        }
        return () => release()
      })
    } catch (error) {
      await release()
      if (tries === most || stalledFor < WRITE_WAIT_MS) throw error
    }
  }
}

/** Counts responses by status. */
export function statuses(answers: readonly { readonly status: number }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Two services that share only the pepper, under which keys are hashed, and the Redis in `env`. */
export async function startTwo(t: Cleanup, env: Readonly<Record<string, string>>) {
  const dirs = [tempDir(t), tempDir(t)] as const
  const first = await startTestService(t, { ...LIMITED, ...env, DATA_DIR: dirs[0] })
  mkdirSync(dirs[1], { recursive: true })
  copyFileSync(join(dirs[0], 'identity-pepper'), join(dirs[1], 'identity-pepper'))
  const second = await startTestService(t, { ...LIMITED, ...env, DATA_DIR: dirs[1] })
  return [first, second] as const
}
