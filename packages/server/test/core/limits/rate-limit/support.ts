import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Answer, assertRefused } from '../../../../../../test/support/answer.ts'
import { post } from '../../../../../../test/support/ask.ts'
import { newKey } from '../../../../../../test/support/key.ts'
import { ON_POSTGRES } from '../../../../../../test/support/postgres.ts'
import { openRaw } from '../../../../../../test/support/raw-database.ts'
import {
  type Cleanup,
  claimBody,
  startTestService,
  type TestService,
  tempDir,
} from '../../../../../../test/support/service.ts'
import type { Settings } from '../../../../src/config/config.ts'

/** In an hour, so that nothing is there again before a slow test ends. */
export const LIMITED = { PREVIEWS: 'rate-limit', RATE_LIMITS: 'failed-claims=10/h' } as const
/** The test's own connection counts as a proxy, so that it can come from any address. */
export const BEHIND_PROXY = { ...LIMITED, TRUSTED_PROXIES: '127.0.0.1,::1' } as const

/** A token that nobody was given. */
export function unknownToken(service: TestService): string {
  return `${service.settings.naming.shortName}-verify-${'0'.repeat(32)}`
}

/** Claims with a token that nobody was given. @param from an address, for a service that believes us */
export function failToClaim(service: TestService, from?: string): Promise<Answer> {
  return claimFrom(service, claimBody(unknownToken(service), newKey()), from)
}

export function claimFrom(service: TestService, body: unknown, from?: string): Promise<Answer> {
  const headers = from === undefined ? {} : { 'x-forwarded-for': from }
  return post(service, '/api/v1/claim', body, 'application/json', headers)
}

/** Asserts that an answer says that it was too much, of what, and when to come back. */
export function assertLimited(answer: Answer, name: string): void {
  assertRefused(answer, 429, 'RATE_LIMITED', /Try again in \d+ s/)
  assert.match(answer.headers.get('retry-after') ?? 'none', /^[1-9]\d*$/)
  assert.ok(policiesOf(answer).has(name), answer.headers.get('ratelimit-policy') ?? 'no policy')
  assert.equal(leftOf(answer).get(name)?.get('r'), 0)
}

/** `RateLimit-Policy`: its parameters, by name. */
export function policiesOf({ headers }: Answer): Map<string, Map<string, number>> {
  return itemsOf(headers.get('ratelimit-policy'))
}

/** `RateLimit`. */
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

/** The lock that whoever writes in PostgreSQL takes. */
const WRITER_LOCK = 0x6373676e
const STALL = ON_POSTGRES ? `select pg_advisory_lock(${WRITER_LOCK})` : 'begin immediate'
const GO_ON = ON_POSTGRES ? `select pg_advisory_unlock(${WRITER_LOCK})` : 'rollback'

/** Stops every write, in a connection of the test's own. @returns lets them go on */
export async function stallWrites(t: Cleanup, settings: Settings): Promise<() => Promise<unknown>> {
  const raw = await openRaw(settings)
  t.after(() => raw.close())
  await raw.exec(STALL)
  return () => raw.exec(GO_ON)
}

/** Those who wait for a write, or in line for one, give up after 5 s. */
const PATIENCE_MS = 4500

/**
 * Tries something while no write gets on. Where that fails on a machine so slow that whoever waits had given up before
 * the writes went on, it has shown nothing, and is tried again.
 * @param attempt with services of its own; it calls `stall`, which is `stallWrites`
 * @param most how often it is tried
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
      if (tries === most || stalledFor < PATIENCE_MS) throw error
    }
  }
}

/** How many answers there are of each status. */
export function statuses(answers: readonly { readonly status: number }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Two that share nothing but the secret that names what is counted, and the Redis. */
export async function startTwo(t: Cleanup, env: Readonly<Record<string, string>>) {
  const dirs = [tempDir(t), tempDir(t)] as const
  const first = await startTestService(t, { ...LIMITED, ...env, DATA_DIR: dirs[0] })
  mkdirSync(dirs[1], { recursive: true })
  copyFileSync(join(dirs[0], 'identity-pepper'), join(dirs[1], 'identity-pepper'))
  const second = await startTestService(t, { ...LIMITED, ...env, DATA_DIR: dirs[1] })
  return [first, second] as const
}
