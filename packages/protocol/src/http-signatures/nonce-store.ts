import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64Url, utf8 } from '../encoding.ts'
import { NONCE } from './accept-signature.ts'
import { isSafeMethod } from './components.ts'
import { MAX_CLOCK_SKEW, MAX_LIFETIME, type SignatureInput } from './signature-input.ts'
import type {
  NonceOutcome,
  NonceStore,
  SignatureReason,
  SignatureRules,
  UsedNonce,
} from './signed-request-types.ts'

/** A memory of used nonces, as far as it matters when it began. */
export interface NonceMemory {
  /** When it began, in milliseconds since 1970. */
  readonly startedAt: number
  /** 16 random bytes, made when it began: base64url, 22 characters. */
  readonly bootId: string
}

/**
 * A request that was accepted before a memory began can have a `created` up to 30 seconds later (`MAX_CLOCK_SKEW`), and the clocks of
 * several processes differ by up to 5 seconds.
 */
const BLIND_MS = 35_000

/** Whether a signature or an approval was surely made after the memory began, so that the memory knows whether it was used. */
export function isSince(
  { startedAt, bootId }: NonceMemory,
  { nonce, createdAt }: Pick<UsedNonce, 'nonce' | 'createdAt'>,
): boolean {
  // Nobody could know the boot id before, whatever the clocks say.
  return nonce?.startsWith(bootId) || createdAt >= startedAt + BLIND_MS
}

/**
 * `NonceStore.challenge` for a memory: null once no signature that is still valid can be too old for it.
 * @param random 22 base64url characters
 */
export function challengeOf(
  { startedAt, bootId }: NonceMemory,
  now: number,
  random: () => string,
): string | null {
  const isSettled = now >= startedAt + BLIND_MS + MAX_LIFETIME * 1000
  return isSettled ? null : bootId + random()
}

/** `NonceStore.retryAfterSeconds` for a memory. */
export function retryAfterOf({ startedAt }: NonceMemory, createdAt: number, now: number): number {
  // Clocks may be as far behind as ahead; an older signature is not from now.
  const signersNow = Math.max(createdAt, now - MAX_CLOCK_SKEW * 1000)
  return Math.max(1, Math.ceil((startedAt + BLIND_MS - signersNow) / 1000))
}

/** Options of `memoryNonceStore`. */
export interface MemoryNonceStoreOptions {
  /** How many nonces it holds at most. Nothing unexpired is evicted. Default: 200,000. */
  readonly maxEntries?: number | undefined
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number
  /** For how long it has known every accepted nonce, in milliseconds, by a clock that nobody sets. Default: since this call, by `now`. */
  readonly age?: (() => number) | undefined
  /** 16 random bytes in base64url: 22 characters, others with each call. */
  readonly random: () => string
}

const DEFAULT_MAX_ENTRIES = 200_000
/** One key takes at most this part of a store, so that one agent cannot lock out the others. */
const SHARE = 16

/**
 * A nonce store in the memory of this process, for a site that is one process. It does not know the nonces of requests that may have
 * been signed before it began, nor further ones while it is full: `unchecked`.
 */
export function memoryNonceStore({
  maxEntries = DEFAULT_MAX_ENTRIES,
  now,
  random,
  age,
}: MemoryNonceStoreOptions): NonceStore {
  const createdNow = now()
  const bootId = random()
  // By the age, so that a clock that is set forward after the start admits nothing.
  const memory = () => ({ bootId, startedAt: age === undefined ? createdNow : now() - age() })
  const share = Math.max(1, Math.floor(maxEntries / SHARE))
  const hashes = new Set<string>()
  const keys = new Map<string, KeyShare>()
  const bySecond = new Map<number, { readonly hash: string; readonly key: KeyShare }[]>()
  /** What expired before this second is gone. */
  let purgedTo = Math.floor(createdNow / 1000)

  const purge = () => {
    const second = Math.floor(now() / 1000)
    for (; purgedTo < second && bySecond.size > 0; purgedTo += 1) {
      for (const { hash, key } of bySecond.get(purgedTo) ?? []) {
        hashes.delete(hash)
        key.used -= 1
        if (key.used === 0) keys.delete(key.keyid)
      }
      bySecond.delete(purgedTo)
    }
    purgedTo = Math.max(purgedTo, second)
  }

  return {
    record({ nonce, hash, keyid, createdAt, expiresAt }) {
      purge()
      if (hashes.has(hash)) return 'used'
      const second = Math.floor(expiresAt / 1000)
      // The clock went backwards: this nonce may have been recorded and purged.
      if (second < purgedTo) return 'unchecked'
      const key = keys.get(keyid) ?? { keyid, used: 0 }
      if (key.used >= share) return 'share-exceeded'
      if (hashes.size >= maxEntries) return 'unchecked'
      hashes.add(hash)
      key.used += 1
      keys.set(keyid, key)
      const bucket = bySecond.get(second)
      if (bucket === undefined) bySecond.set(second, [{ hash, key }])
      else bucket.push({ hash, key })
      return isSince(memory(), { nonce, createdAt }) ? 'fresh' : 'unchecked'
    },
    challenge: () => challengeOf(memory(), now(), random),
    retryAfterSeconds: (createdAt) => retryAfterOf(memory(), createdAt, now()),
  }
}

interface KeyShare {
  readonly keyid: string
  used: number
}

/** A nonce of the profile `wba`: base64 in either alphabet, with or without padding, at most 1 KiB. */
const WBA_NONCE = /^[A-Za-z0-9+/_-]{1,1024}={0,2}$/

/**
 * Records the nonce of a verified signature. In the profile `wba`, requests that change nothing may have none. A nonce is remembered
 * for `MAX_LIFETIME` after `created`, so that signatures of a day do not fill the store: of an older signature, nobody can tell.
 * @param keys by their thumbprints the one that has signed, and the one whose share of the store the nonce takes. Computed, not cut out of
 *   the header, so that a stored nonce does not keep the whole header in memory
 * @param now in milliseconds since 1970
 * @returns a promise if the store does
 */
export function recordNonce(
  nonces: NonceStore | null,
  { profile }: SignatureRules,
  method: string,
  { nonce, created, expires }: SignatureInput,
  { keyid, shareOf }: { readonly keyid: string; readonly shareOf: string },
  now: number,
): Replay | Promise<Replay> {
  const isWba = profile === 'wba'
  if (nonce === null && isWba && isSafeMethod(method)) return 'unchecked'
  if (nonce === null || !(isWba ? WBA_NONCE : NONCE).test(nonce)) return 'nonce'
  if (nonces === null) return 'unchecked'
  const createdAt = (created ?? 0) * 1000
  const rememberedUntil = Math.min((expires ?? 0) * 1000, createdAt + MAX_LIFETIME * 1000)
  if (now > rememberedUntil) return replayOf('unchecked', method)
  const entry = {
    keyid: shareOf,
    nonce,
    hash: encodeBase64Url(sha256(utf8(`${keyid} ${nonce}`))),
    createdAt,
    expiresAt: rememberedUntil + MAX_CLOCK_SKEW * 1000,
  }
  try {
    const outcome = nonces.record(entry)
    if (typeof outcome === 'string') return replayOf(outcome, method)
    return Promise.resolve(outcome).then(
      (each) => replayOf(each, method),
      () => replayOf('unchecked', method),
    )
  } catch {
    return replayOf('unchecked', method)
  }
}

/** Whether a request was not sent before, or why it does not count. */
export type Replay = SignatureReason | 'checked' | 'unchecked'

function replayOf(outcome: NonceOutcome, method: string): Replay {
  if (outcome === 'used') return 'replay'
  if (outcome === 'share-exceeded') return 'too-many-requests'
  if (outcome === 'fresh') return 'checked'
  return isSafeMethod(method) ? 'unchecked' : 'replay-unchecked'
}
