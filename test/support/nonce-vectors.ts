import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { NonceStore } from '@countersign/protocol'

/** Times are in seconds since `origin`. */
interface NonceStoreCase {
  readonly name: string
  /** Cases for stores in memory, by how many nonces these hold or by what their clock does. */
  readonly memoryOnly?: boolean
  readonly maxEntries?: number
  readonly start: number
  readonly steps: readonly Step[]
}

interface Step {
  readonly at: number
  readonly restart?: true
  readonly record?: {
    readonly keyid: string
    readonly nonce: string | { readonly challenge: string; readonly prefix?: string }
    readonly createdAt: number
    readonly expiresAt: number
  }
  readonly outcome?: string
  /** What later steps call it; null: there is none. */
  readonly challenge?: string | null
  readonly retryAfter?: number
  readonly createdAt?: number
}

interface NonceVectors {
  readonly origin: number
  readonly cases: readonly NonceStoreCase[]
  readonly responses: readonly {
    readonly name: string
    readonly status: number
    readonly acceptSignature: string | null
    readonly nonce: string | null
    /** Whether to sign again after Retry-After. */
    readonly later: boolean
  }[]
}

const FILE = new URL('../../vectors/nonce-stores.json', import.meta.url)

/** The vectors of stores of nonces after a start. */
export const nonceVectors: NonceVectors = JSON.parse(readFileSync(FILE, 'utf8'))

/**
 * Plays a case.
 * @param start starts a store with a memory of its own, by a clock in milliseconds since 1970
 */
export async function playNonceCase(
  { start: startedAt, maxEntries, steps }: NonceStoreCase,
  start: (now: () => number, maxEntries?: number) => NonceStore | Promise<NonceStore>,
): Promise<void> {
  const at = (seconds: number) => (nonceVectors.origin + seconds) * 1000
  const clock = { now: at(startedAt) }
  const startNow = () => start(() => clock.now, maxEntries)
  let store = await startNow()
  const challenges = new Map<string, string>()
  for (const [i, step] of steps.entries()) {
    clock.now = at(step.at)
    if (step.restart) store = await startNow()
    if (step.challenge !== undefined) {
      const challenge = store.challenge?.() ?? null
      if (step.challenge === null) assert.equal(challenge, null)
      else {
        assert.match(challenge ?? '', /^[\w-]{44}$/)
        assert.ok(![...challenges.values()].includes(challenge ?? ''))
        challenges.set(step.challenge, challenge ?? '')
      }
    }
    if (step.retryAfter !== undefined) {
      assert.equal(store.retryAfterSeconds?.(at(step.createdAt ?? 0)), step.retryAfter, `step ${i}`)
    }
    if (step.record === undefined) continue
    const { keyid, nonce: named, createdAt, expiresAt } = step.record
    const nonce =
      typeof named === 'string' ? named : (named.prefix ?? '') + challenges.get(named.challenge)
    const hash = createHash('sha256').update(`${keyid} ${nonce}`).digest('base64url')
    const entry = { keyid, nonce, hash, createdAt: at(createdAt), expiresAt: at(expiresAt) }
    assert.equal(await store.record(entry), step.outcome, `step ${i}`)
  }
}
