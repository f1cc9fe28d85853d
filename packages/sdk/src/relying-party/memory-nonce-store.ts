import { encodeBase64Url, memoryNonceStore as memoryStore } from '@countersign/protocol'
import type { NonceStore } from '@countersign/protocol/signed-request-types'
import { isOneOfSeveral, millisecondsSinceStart } from '../runtime.ts'

/** On `globalThis`, since bundlers put copies of this module into one process. */
const FIRST_STORE = Symbol.for('countersign.nonces')

/**
 * A store of used nonces in the memory of this process. Create it once. The first store of a process knows all that was accepted
 * since the process started, a later one since it was created. For requests that may have been signed before, up to 35 seconds
 * after the start, it says `unchecked`. Its `challenge()` is a nonce with which a signer is admitted at once.
 *
 * In a worker of node:cluster and on Cloudflare's Workers, other processes have memories of their own, so it can never tell that a
 * nonce was not used.
 * @param maxEntries nothing unexpired is evicted beyond this. Default: 200,000
 * @param now the clock, in milliseconds since 1970. With a clock of your own, the store starts when it is created
 */
export function memoryNonceStore(maxEntries?: number, now?: () => number): NonceStore {
  const isAlone = !isOneOfSeveral()
  const store = memoryStore({
    maxEntries,
    now: now ?? Date.now,
    age: now === undefined ? ageOfMemory() : undefined,
    // Workers allow no random values before the first request, and need none.
    random: isAlone ? randomId : () => NO_NONCE,
  })
  if (isAlone) return store
  return {
    record(nonce) {
      const outcome = store.record(nonce)
      return outcome === 'fresh' ? 'unchecked' : outcome
    },
    challenge: () => null,
    retryAfterSeconds: () => null,
  }
}

/** 16 random bytes. */
const randomId = () => encodeBase64Url(crypto.getRandomValues(new Uint8Array(16)))
/** No nonce begins so. */
const NO_NONCE = '*'

/** That of the process for its first store: no other one has accepted anything before. */
function ageOfMemory(): () => number {
  const marks = globalThis as { [FIRST_STORE]?: boolean }
  const isFirst = marks[FIRST_STORE] !== true
  marks[FIRST_STORE] = true
  if (isFirst) {
    const sinceStart = millisecondsSinceStart()
    if (sinceStart !== null) return sinceStart
  }
  const createdAt = performance.now()
  return () => performance.now() - createdAt
}
